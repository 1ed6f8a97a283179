# Nothing is defined here: NAMESPACE imports every function of pjrtdispatch and exports it again. scripts/generate writes
# NAMESPACE and the help page from those of pjrtdispatch.
NULL
