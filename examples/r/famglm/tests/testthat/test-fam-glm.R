test_that("a logistic regression is that of glm()", {
  expect_like_glm(fam_glm(am ~ wt + hp, "binomial", mtcars), glm(am ~ wt + hp, binomial, mtcars))
  expect_like_glm(fam_glm(vs ~ mpg * disp, "binomial", mtcars), glm(vs ~ mpg * disp, binomial, mtcars))
  expect_like_glm(fam_glm(am ~ 1, "binomial", mtcars), glm(am ~ 1, binomial, mtcars))
  expect_like_glm(fam_glm(am ~ 0 + wt, "binomial", mtcars), glm(am ~ 0 + wt, binomial, mtcars))
})

test_that("a Poisson regression is that of glm()", {
  expect_like_glm(
    fam_glm(breaks ~ wool * tension, "poisson", warpbreaks), glm(breaks ~ wool * tension, poisson, warpbreaks)
  )
  expect_like_glm(
    fam_glm(carb ~ log(hp) + factor(cyl), "poisson", mtcars), glm(carb ~ log(hp) + factor(cyl), poisson, mtcars)
  )
})

test_that("a fit to the last digit is that of glm()", {
  tight <- list(epsilon = 1e-14, maxit = 50L)
  fit <- fam_glm(am ~ wt + hp, "binomial", mtcars, epsilon = 1e-14, maxit = 50L)
  theirs <- glm(am ~ wt + hp, binomial, mtcars, control = tight)
  expect_close(coef(fit), coef(theirs), 1e-11)
  # The estimates of the closed form: log-odds of two groups.
  fit <- fam_glm(vs ~ am, "binomial", mtcars, epsilon = 1e-14)
  share <- tapply(mtcars$vs, mtcars$am, mean)
  expect_close(unname(coef(fit)), as.vector(c(qlogis(share[1]), diff(qlogis(share)))), 1e-12)
  counts <- table(mtcars$am, mtcars$vs)
  # As in glm(), the information is that of the last step's start.
  expect_close(unname(sqrt(diag(vcov(fit)))), sqrt(c(sum(1 / counts["0", ]), sum(1 / counts))), 1e-7)
})

test_that("columns that almost depend on each other are fitted as glm() fits them", {
  # Their condition number, scaled, is 43 000, and that of the information matrix the square of it.
  formula <- round(Unemployed) ~ GNP.deflator + GNP + Armed.Forces + Population + Year + Employed
  expect_like_glm(fam_glm(formula, "poisson", longley), glm(formula, poisson, longley), 1e-6)
  fit <- fam_glm(formula, "poisson", longley)
  theirs <- glm(formula, poisson, longley)
  expect_lt(max(abs(coef(fit) / coef(theirs) - 1)), 1e-8)
  expect_lt(max(abs(sqrt(diag(vcov(fit))) / sqrt(diag(vcov(theirs))) - 1)), 1e-8)
  expect_close(fitted(fit), fitted(theirs))
})

test_that("binomial responses are factors, logical, shares, or two columns", {
  logical <- fam_glm(am ~ wt, "binomial", mtcars)
  data <- transform(mtcars, kind = factor(ifelse(am == 1, "manual", "automatic")), is_manual = am == 1)
  expect_like_glm(fam_glm(kind ~ wt, "binomial", data), glm(kind ~ wt, binomial, data))
  expect_equal(coef(fam_glm(is_manual ~ wt, "binomial", data)), coef(logical))

  grouped <- aggregate(cbind(yes = am, all = 1) ~ gear + vs, mtcars, sum)
  grouped$share <- grouped$yes / grouped$all
  two <- fam_glm(cbind(yes, all - yes) ~ vs, "binomial", grouped)
  expect_like_glm(two, glm(cbind(yes, all - yes) ~ vs, binomial, grouped))
  shares <- fam_glm(share ~ vs, "binomial", grouped, weights = all)
  expect_like_glm(shares, glm(share ~ vs, binomial, grouped, weights = all))
  expect_equal(coef(shares), coef(two))
})

test_that("weights, offsets and subsets are those of glm()", {
  data <- transform(warpbreaks, w = rep(c(0, 1, 2.5), 18), hours = rep(c(1, 4), 27))
  expect_like_glm(
    fam_glm(breaks ~ wool, "poisson", data, weights = w), glm(breaks ~ wool, poisson, data, weights = w)
  )
  theirs <- glm(breaks ~ wool + offset(log(hours)), poisson, data)
  expect_like_glm(fam_glm(breaks ~ wool + offset(log(hours)), "poisson", data), theirs)
  expect_close(coef(fam_glm(breaks ~ wool, "poisson", data, offset = log(hours))), coef(theirs))
  expect_like_glm(
    fam_glm(breaks ~ 0 + tension, "poisson", data, offset = log(hours)),
    glm(breaks ~ 0 + tension, poisson, data, offset = log(hours))
  )
  expect_like_glm(
    fam_glm(breaks ~ tension, "poisson", data, subset = wool == "A"),
    glm(breaks ~ tension, poisson, data, subset = wool == "A")
  )
  new <- data[c(1, 40), ]
  both <- fam_glm(breaks ~ wool + offset(log(hours)), "poisson", data, offset = w)
  glm_both <- glm(breaks ~ wool + offset(log(hours)), poisson, data, offset = w)
  expect_close(predict(both, new), predict(glm_both, new))
})

test_that("missing values are left out, or kept as missing", {
  data <- mtcars
  data$wt[c(3, 7)] <- NA
  data$am[10] <- NA
  expect_like_glm(fam_glm(am ~ wt, "binomial", data), glm(am ~ wt, binomial, data))
  excluded <- fam_glm(am ~ wt, "binomial", data, na.action = na.exclude)
  expect_like_glm(excluded, glm(am ~ wt, binomial, data, na.action = na.exclude))
  expect_identical(names(which(is.na(fitted(excluded)))), rownames(mtcars)[c(3, 7, 10)])
  expect_output(print(excluded), "3 observations deleted due to missingness", fixed = TRUE)
  expect_error(fam_glm(am ~ wt, "binomial", data, na.action = na.fail), "missing values")
})

test_that("factors, their contrasts and new data are those of glm()", {
  data <- transform(mtcars, cyl = factor(cyl), kind = ifelse(vs == 1, "straight", "v"))
  expect_like_glm(fam_glm(carb ~ cyl + kind, "poisson", data), glm(carb ~ cyl + kind, poisson, data))
  sums <- list(cyl = "contr.sum")
  fit <- fam_glm(carb ~ cyl + kind, "poisson", data, contrasts = sums)
  theirs <- glm(carb ~ cyl + kind, poisson, data, contrasts = sums)
  expect_like_glm(fit, theirs)
  new <- data.frame(cyl = c("4", "8", NA), kind = c("v", "straight", "v"), row.names = c("a", "b", "c"))
  for (type in c("link", "response")) {
    expect_close(predict(fit, new, type), predict(theirs, new, type))
    expect_close(predict(fit, new, type, se.fit = TRUE)$se.fit, predict(theirs, new, type, se.fit = TRUE)$se.fit)
  }
  expect_identical(predict(fit, new, na.action = na.omit)[["b"]], predict(fit, new)[["b"]])
  expect_error(predict(fit, data.frame(cyl = "5", kind = "v")), "new level")
  basis <- fam_glm(am ~ poly(wt, 2), "binomial", mtcars)
  expect_close(
    predict(basis, mtcars[4:6, ]), predict(glm(am ~ poly(wt, 2), binomial, mtcars), mtcars[4:6, ])
  )
})

test_that("a rank deficient design is an error that names the columns", {
  data <- transform(mtcars, tons = wt * 0.4536, sum = wt + hp)
  expect_error(fam_glm(am ~ wt + tons, "binomial", data), "rank deficient: `tons` is a combination", fixed = TRUE)
  expect_error(fam_glm(am ~ wt + hp + tons + sum, "binomial", data), "`tons`, `sum` are combinations", fixed = TRUE)
  expect_error(fam_glm(am ~ wt, "binomial", data[1, ]), "rank deficient")
  expect_error(fam_glm(carb ~ I(0 * wt), "poisson", data), "rank deficient: `I(0 * wt)` is", fixed = TRUE)
  # A level that only rows of weight 0 have.
  expect_error(
    fam_glm(carb ~ factor(gear), "poisson", mtcars, weights = as.numeric(gear != 5)), "factor(gear)5",
    fixed = TRUE
  )
})

test_that("a fit that does not converge is told of", {
  expect_warning(fit <- fam_glm(am ~ wt, "binomial", mtcars, maxit = 2L), "did not converge in 2 steps")
  expect_false(fit$converged)
  expect_output(print(summary(fit)), "Newton steps: 2, not converged", fixed = TRUE)
  separated <- data.frame(x = 1:10, y = rep(0:1, each = 5))
  expect_warning(
    expect_warning(fit <- fam_glm(y ~ x, "binomial", separated), "did not converge"), "numerically 0 or 1 occurred"
  )
  theirs <- suppressWarnings(glm(y ~ x, binomial, separated))
  expect_identical(c(fit$converged, fit$iter), c(theirs$converged, theirs$iter))
  expect_lt(deviance(fit), 1e-6)
})

test_that("wrong responses and arguments are errors of the call", {
  expect_wrong <- function(call, message) {
    error <- expect_error(call, message, fixed = TRUE)
    expect_identical(as.character(conditionCall(error)[[1]]), "fam_glm")
  }
  expect_wrong(fam_glm(mpg ~ wt, "binomial", mtcars), "a binomial response has to be between 0 and 1")
  expect_wrong(fam_glm(I(-carb) ~ wt, "poisson", mtcars), "a Poisson response: there are negative values")
  expect_wrong(fam_glm(cbind(am, vs, carb) ~ wt, "binomial", mtcars), "the response has 3 columns")
  expect_wrong(fam_glm(cbind(am, vs) ~ wt, "poisson", mtcars), "the response has 2 columns, not one")
  expect_wrong(fam_glm(rownames(mtcars) ~ wt, "binomial", mtcars), "factor, logical or numeric, not character")
  expect_wrong(fam_glm(~wt, "binomial", mtcars), "the formula has no response")
  expect_wrong(fam_glm(am ~ 0, "binomial", mtcars), "the model has no coefficients")
  expect_wrong(fam_glm(am ~ wt, "gaussian", mtcars), "`family` has to be \"binomial\" or \"poisson\", not \"gaussian\"")
  expect_wrong(fam_glm(am ~ wt, binomial("probit"), mtcars), "the link of binomial has to be logit, not probit")
  expect_wrong(fam_glm(am ~ wt, "binomial", mtcars, weights = -wt), "`weights` has negative numbers")
  expect_wrong(fam_glm(am ~ log(am), "binomial", mtcars), "the terms of the formula have values that are not finite")
  expect_wrong(fam_glm(am ~ wt, "binomial", mtcars[0, ]), "no rows are left")
  expect_warning(fam_glm(mpg ~ wt, "poisson", mtcars), "not whole numbers")
  expect_error(fam_glm(am ~ wt, "binomial", mtcars, epsilon = -1), "`epsilon` has to be a number above 0")
  expect_error(fam_glm(am ~ wt, "binomial", mtcars, maxit = 0L), "`max_iterations` has to be 1 at least")
})

test_that("a family is named by a string, a function or an object", {
  fit <- fam_glm(carb ~ wt, "poisson", mtcars)
  expect_identical(coef(fam_glm(carb ~ wt, poisson, mtcars)), coef(fit))
  expect_identical(coef(fam_glm(carb ~ wt, poisson(), mtcars)), coef(fit))
  expect_identical(family(fit)$link, "log")
})

test_that("data are found where the formula was written", {
  weight <- mtcars$wt
  manual <- mtcars$am
  expect_close(coef(fam_glm(manual ~ weight)), setNames(coef(glm(am ~ wt, binomial, mtcars)), c("(Intercept)", "weight")))
})

test_that("a fit prints its coefficients, and its summary their errors", {
  fit <- fam_glm(am ~ wt, "binomial", mtcars)
  shown <- capture.output(print(fit))
  expect_match(shown, "Call:  fam_glm(formula = am ~ wt", fixed = TRUE, all = FALSE)
  expect_match(shown, "Residual deviance: 19.18   AIC: 23.18", fixed = TRUE, all = FALSE)
  shown <- capture.output(print(summary(fit)))
  expect_match(shown, "^wt +-4.024 +1.436 +-2.801 +0.00509", all = FALSE)
  expect_match(shown, "Family: binomial, link: logit", fixed = TRUE, all = FALSE)
  expect_match(shown, "Residual deviance: 19.176  on 30  degrees of freedom", fixed = TRUE, all = FALSE)
})

test_that("profiles of a fit are not needed for its confidence intervals", {
  expect_close(
    confint(fam_glm(am ~ wt, "binomial", mtcars)), confint.default(glm(am ~ wt, binomial, mtcars))
  )
})

test_that("arguments of the families that fit no row are errors that name them", {
  expect_error(logistic_fit(cbind(1, mtcars$wt), mtcars$am, weights = 1:3, offset = 0), "`weights` has to be one number")
  expect_error(glm_residuals(mtcars$am, mtcars$vs, weights = 1:3, family = "poisson"), "`weights` has to be one number")
  fit <- logistic_fit(cbind(1, mtcars$wt), mtcars$am, 1, 0)
  expect_error(
    glm_predict(cbind(1, 2), fit$coefficients, fit$covariance, offset = c(1, 2), family = "binomial"),
    "`offset` has to be one number"
  )
  expect_error(logistic_fit(cbind(1, mtcars$wt), mtcars$am[-1], 1, 0), "argument `y`: expected shape", fixed = TRUE)
  expect_error(glm_residuals(mtcars$am, mtcars$vs, 1, "gaussian"), "one of \"binomial\", \"poisson\"", fixed = TRUE)
})
