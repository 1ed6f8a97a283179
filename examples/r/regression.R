# A package whose functions are program families, declared in Rust: examples/r/famglm.
library(famglm)

# Which cars have a manual transmission, by weight and power: Newton's method, one program with all its steps.
fit <- fam_glm(am ~ wt + hp, "binomial", mtcars)
print(coef(summary(fit)))
stopifnot(all.equal(coef(fit), coef(glm(am ~ wt + hp, "binomial", mtcars)), tolerance = 1e-8))

# The generated function, with what it has compiled so far. Data of the same sizes: nothing is compiled.
before <- pjrtdispatch::family_stats(logistic_fit)
invisible(fam_glm(vs ~ wt + hp, "binomial", mtcars))
after <- pjrtdispatch::family_stats(logistic_fit)
stopifnot(after$compiles == before$compiles, after$hits > before$hits)
print(logistic_fit)
