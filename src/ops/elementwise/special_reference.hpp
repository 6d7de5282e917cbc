// Special functions for the reference evaluator, in long double if that helps: slow, simple, and independent of
// codegen_templates/common/special.cuh. Special values are those of C or SciPy.
#pragma once

namespace croton::ops::reference {

double erfinv(double x);
double erfcinv(double x);
double erfcx(double x);
double gamma(double x);
double gammaln(double x);
double psi(double x);
double tri_gamma(double x);
double polygamma(double n, double x);
double gammainc(double a, double x);
double gammaincc(double a, double x);
double chi2sf(double x, double k);
double gamma_pdf(double a, double x);
double i0(double x);
double i1(double x);
double j0(double x);
double j1(double x);
double jv(double v, double x);
double iv(double v, double x);
double log1mexp(double x);
double logaddexp(double x, double y);
double logaddexp2(double x, double y);
double sinc(double x);
double exp10(double x);

}  // namespace croton::ops::reference
