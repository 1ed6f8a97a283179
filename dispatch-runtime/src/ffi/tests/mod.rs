mod by_hand;
