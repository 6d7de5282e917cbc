// Less common functions of generated kernels: inverse error functions, gamma and its derivatives, Bessel functions, and
// functions built from those of math.cuh, which comes before this text. Its rules apply here, too.
//  - Every function is a template that computes in double and rounds once at the end: results of float are as good as
//    exact, and a kernel that does not use a function only parses it.
//  - Polynomials were fitted as in math.cuh; comments give the function, the interval and the largest relative error.
// Accuracy is measured and asserted against MPFR by tests/ulp (docs/internals/ulp.md).
#ifndef CT_SPECIAL
#define CT_SPECIAL

namespace ct {

namespace internal {

// c0 + c1 x + c2 x^2 + ...
template <class T>
CT_DEVICE T horner(T, T c) {
  return c;
}
template <class T, class... Higher>
CT_DEVICE T horner(T x, T c, Higher... higher) {
  return fma(horner(x, T(higher)...), x, c);
}

// sin and cos of pi x, the argument reduced exactly.
template <class T>
struct HalfTurns {
  T r, quarter;  // x = quarter / 2 + r modulo 2, |r| <= 1/4
};
template <class T>
CT_DEVICE HalfTurns<T> half_turns(T a) {
  const T b = a < T(1e18) ? a : a - a, n = rint(T(2) * b);  // large numbers are even, inf becomes nan
  return {fma(n, T(-0.5), b), n - T(4) * floor(n * T(0.25))};
}
template <class T>
CT_DEVICE T sin_pi(T x) {
  const auto h = half_turns(abs(x));
  const T r = h.r * T(3.141592653589793);
  const T value = h.quarter == T(1) || h.quarter == T(3) ? cos_of_small(r, T(0)) : sin_of_small(r, T(0));
  return change_sign(value, (h.quarter >= T(2)) != (with_sign_of(T(1), x) < T(0)));
}
template <class T>
CT_DEVICE T cos_pi(T x) {
  const auto h = half_turns(abs(x));
  const T r = h.r * T(3.141592653589793);
  const T value = h.quarter == T(1) || h.quarter == T(3) ? sin_of_small(r, T(0)) : cos_of_small(r, T(0));
  return change_sign(value, h.quarter == T(1) || h.quarter == T(2));
}

// The inverse of erf at the magnitude s, divided by s, where w = -log(1 - s^2) and s < 1 (Giles 2011, in other
// intervals and to double precision). `deep`: for w up to 756, which only erfcinv reaches.
template <bool deep, class T>
CT_DEVICE T inverse_erf_factor(T w) {
  const T t = sqrt(w);
  // On [0, 4.5] in w 2^-53.9, then in t on [2.12, 4] 2^-53.2, [4, 8] 2^-54.1, [8, 15] 2^-59.5 and
  // [15, 27.5] 2^-54.0.
  const T a =
      internal::horner(w - T(2.25), 1.4395086296840072, 0.24848033548175602, -0.0031553722009454543,
                       -0.0014729485403496656, 0.00022103552909315933, 7.398829147470069e-07, -4.215970857160619e-06,
                       4.2593132726706245e-07, 4.003706273066046e-08, -1.2609998366453794e-08, 4.4826596063122653e-10,
                       2.1395303661693856e-10, -3.047939990342215e-11, -1.4301677437101831e-12, 7.670364173662567e-13,
                       -4.4356865186675385e-14, -9.208073962885689e-15, 1.6955262604727644e-15, -3.2254194220053914e-16,
                       -8.219281586451804e-18, 3.285423631490431e-17, -9.286183164051413e-19, -1.1206939446891e-18);
  const T b =
      internal::horner(t - T(3.0625), 2.895616617371387, 1.0027716799397663, 0.008137202641689706,
                       -0.006354374178704235, 0.004658446376614742, -0.003018094260032737, 0.0013916846435795692,
                       -0.00026301986719835785, -0.00017645185364795915, 0.0001726749501598018, -5.696387397727871e-05,
                       -8.340736078274463e-06, 1.671231741399797e-05, -6.666785398032799e-06, -7.2204285927025e-08,
                       1.3488342864193268e-06, -6.615103714444076e-07, 6.158735766637031e-08, 1.0728264257176359e-07,
                       -5.839328213793554e-08, 1.916968450523278e-09, 7.119080963967921e-09, -1.6683727328102382e-09);
  const T c =
      internal::horner(t - T(6), 5.859913143946245, 1.0096051220994087, -0.0004728399579014623, -4.292497768192993e-05,
                       2.157855771568478e-05, -5.35638108267138e-06, 1.1055937841266477e-06, -2.0888005705491513e-07,
                       3.738687794567444e-08, -6.4426700145261055e-09, 1.0781779266530686e-09, -1.784835290593448e-10,
                       3.296291106487007e-11, -7.216849206911163e-12, 1.0063499798570265e-12, -6.823889704717215e-13,
                       9.421437187653386e-13, -3.1156597043663344e-13, -4.450534553246235e-14, -5.214977438626282e-15,
                       3.1455207018344876e-14, -6.637525840846912e-15, -1.6481397914253121e-15, 4.761419262368363e-16);
  T result = w < T(4.5) ? a : t < T(4) ? b : c;
  if constexpr (deep) {
    const T d = internal::horner(
        t - T(11.5), 11.398835871111405, 1.00503665579129, -0.0002752346297893962, 1.4540334010867958e-05,
        -6.551988919519717e-07, 1.495658925646669e-08, 1.704366138470597e-09, -3.678755225454529e-10,
        4.825343274016221e-11, -5.407710099559967e-12, 5.607792537085418e-13, -5.546648433010542e-14,
        5.274031350460594e-15, -4.970601049301696e-16, 5.2417687456353485e-17, -4.3115876110405396e-18,
        -2.6324840019167274e-19, -2.302674298494631e-20, 4.155464583298815e-20, -6.401456326511279e-22,
        -1.303151482188015e-21, 3.84903683324914e-24, 1.9841431978230585e-23);
    const T e =
        internal::horner(t - T(21), 20.930323579238568, 1.00218772129591, -7.735118071656015e-05, 2.833952687222813e-06,
                         -1.046756775202298e-07, 3.833290188216446e-09, -1.3693158693185444e-10, 4.663333826199252e-12,
                         -1.4517628860856303e-13, 3.600119446430483e-15, 1.867199158563467e-18, -6.105188960201922e-19,
                         -2.1386737467430407e-18, -2.396165599029347e-19, 1.2248816100769704e-19, 7.067977022689565e-21,
                         -3.590988264975547e-21, -1.5342391737234378e-22, 6.70971953945345e-23, 1.8169402599954142e-24,
                         -7.097583304599816e-25, -9.228958979664644e-27, 3.256027526586701e-27);
    result = t < T(8) ? result : t < T(15) ? d : e;
  }
  return result;
}

}  // namespace internal

// --- Error functions -----------------------------------------------------------------------------

// The x with erf(x) = y; nan outside of [-1, 1].
template <class T>
CT_DEVICE T erfinv(T given) {
  const double x = given, a = abs(x), inside = a < 1.0 ? a : 0.0;
  const double result = x * internal::inverse_erf_factor<false>(-log(fma(-inside, inside, 1.0)));
  return T(a < 1.0 ? result : a == 1.0 ? internal::with_sign_of(inf<double>(), x) : nan<double>());
}
// The x with erfc(x) = y; nan outside of [0, 2].
template <class T>
CT_DEVICE T erfcinv(T given) {
  const double y = given, tail = y > 1.0 ? 2.0 - y : y, inside = tail > 0.0 ? tail : 1.0;
  const double magnitude = (1.0 - inside) * internal::inverse_erf_factor<true>(-log(inside * (2.0 - inside)));
  const double result = tail > 0.0 ? magnitude : tail == 0.0 ? inf<double>() : nan<double>();
  return T(y > 1.0 ? -result : result);
}
// exp(x^2) erfc(x): a polynomial on [0, 1], then q(t) / (1 + 2 a) with t = (a - 4) / (a + 4), the form of Shepherd and
// Laframboise (1981).
template <class T>
CT_DEVICE T erfcx(T given) {
  const double x = given, a = abs(x), c = a > 1e9 ? 1e9 : a, t = (c - 4.0) / (c + 4.0);
  // Relative errors 2^-64.4 and 2^-54.6.
  const double near =
      internal::horner(a < 1.0 ? a : 1.0, 1.0, -1.1283791670955126, 0.9999999999999973, -0.752252778063519,
                       0.4999999999954034, -0.3009011111444628, 0.1666666657251456, -0.0859717383915181,
                       0.041666620980064475, -0.019104627939271195, 0.008332631089453287, -0.003471730908834887,
                       0.0013849618493879134, -0.0005279193256299001, 0.00018997395238088793, -6.260492611244643e-05,
                       1.7854453490040705e-05, -4.027420852741889e-06, 6.21352005860564e-07, -4.802580821437596e-08);
  const double q =
      internal::horner(t, 1.2329951186255526, -0.13962111684056266, 0.015379652102608781, 0.06809705425470682,
                       -0.10103906603576987, 0.09373283499793597, -0.06633036582290705, 0.0371675155431963,
                       -0.016197733944917917, 0.005031969933285089, -0.0007577740025634773, -0.00019925647461167812,
                       0.00015062458180994495, -2.439994379129643e-05, -1.1229971637182208e-05, 5.711435130164315e-06,
                       3.0872890259614144e-07, -8.282859871178306e-07, 5.521790856712462e-08, 1.1349042455715795e-07,
                       -5.682548118369191e-10, -1.6895390325662577e-08, -8.438112283557235e-09, 2.6039854520412014e-09,
                       3.664760192424022e-09, -2.7056499285337994e-10, -5.896237636625198e-10);
  const double tail = a < 1.0 ? near : a > 1e9 ? 0.5641895835477563 / a : q / fma(2.0, c, 1.0);
  const double b = a > 27.0 ? 27.0 : a, z = b * b, power = exp(z);
  const double twice = power < inf<double>() ? 2.0 * fma(power, fma(b, b, -z), power) : power;
  return T(x < 0.0 ? twice - tail : tail);
}

// --- Gamma and its derivatives -------------------------------------------------------------------

namespace internal {

// Gamma(b) / (b^(b - 1/2) e^-b) with v = 1 / b and b >= 10, error 2^-59.5.
template <class T>
CT_DEVICE T gamma_star(T v) {
  return horner(v, 2.5066282746310007, 0.20888568955249343, 0.008703570415386072, -0.006721092235043431,
                -0.0005750952198338448, 0.001961251812332744, 0.0002758973029286087, -0.0031632074138860126,
                0.018191769318385752, -0.12410344470429069, 0.497466989236368, -0.8584882097807616);
}
// log(Gamma(1 + t)) / t on [-1/4, 1/2], error 2^-56.7.
template <class T>
CT_DEVICE T log_gamma_factor(T t) {
  return horner(t, -0.5772156649015329, 0.8224670334241132, -0.40068563438652627, 0.27058080842778753,
                -0.20738555102980671, 0.16955717699706932, -0.1440498966592605, 0.12550966953098208,
                -0.11133427197783546, 0.10009946089206681, -0.09095380233530378, 0.08335350687493401,
                -0.07693712369379288, 0.0714461792849193, -0.06661879855066268, 0.062247437444860956,
                -0.05886419779286901, 0.057691324865062246, -0.056604405734720344, 0.04739390894057001,
                -0.026785083471805884, 0.007154112206123397);
}

}  // namespace internal

// x < 10: (x - 1) (x - 2) ... Gamma(2 + t) with t in [0, 1); beyond: x^(x - 1/2) e^-x times a series in 1 / x. Negative
// x by reflection, Gamma(-a) = -pi / (sin(pi a) Gamma(1 + a)). Halves keep the power from overflowing early.
template <class T>
CT_DEVICE T gamma(T given) {
  const double x = given, a = abs(x), n = floor(a >= 10.0 ? 10.0 : a), t = a >= 10.0 ? 0.0 : a - n;
  // Gamma(2 + t), error 2^-60.2.
  double p =
      internal::horner(t, 1.0, 0.42278433509846747, 0.41184033042639406, 0.08157691924930974, 0.07424901069845467,
                       -0.00026698125214207844, 0.011154037758730384, -0.002852591755751645, 0.0021036671357727945,
                       -0.0009185976095559214, 0.00048767150123777135, -0.0002351289845063376, 0.00011203358718926698,
                       -4.832276984152529e-05, 1.7796117587366104e-05, -5.043218035070904e-06, 9.517782099663429e-07,
                       -8.77615209140331e-08);
  for (int k = 1; k < 8; ++k) p *= double(k) < n - 1.0 ? a - double(k) : 1.0;
  const double next = n == 0.0 ? p / (1.0 + a) : n == 1.0 ? p : p * a;  // Gamma(1 + a)
  const double small = n < 2.0 ? next / a : p;
  const double b = a > 185.0 ? 185.0 : a >= 10.0 ? a : 10.0, v = 1.0 / b, half = pow(b, fma(b, 0.5, -0.25));
  const double star = internal::gamma_star(v);
  const double part = half * (internal::exp_of_negative(-b) * star);
  const bool large = a >= 10.0;
  const double positive = large ? part * half : small;
  const double s = internal::sin_pi(a);
  const double negative = large ? -3.141592653589793 / (a * s) / part / half : -3.141592653589793 / (s * next);
  const double result = a < 1e-17 ? 1.0 / x : x < 0.0 ? (floor(x) == x ? nan<double>() : negative) : positive;
  return T(x != x ? x : a < inf<double>() ? result : x > 0.0 ? x : nan<double>());
}

// log |Gamma(x)|. Around its zeros 1 and 2 by polynomials that have them; from 2.5 to 10 the logarithm of
// (x - 1) (x - 2) ... is added, from there on Stirling's series is used, negative x are reflected.
template <class T>
CT_DEVICE T gammaln(T given) {
  const double x = given, a = abs(x), c = a >= 10.0 ? 10.0 : a;
  const bool low = a < 0.75, first = a < 0.5 || (a >= 0.75 && a < 1.5);
  const double steps = c < 2.5 ? 0.0 : floor(c - 1.5);
  const double t = a < 0.5 ? a : a < 1.5 ? a - 1.0 : c - 2.0 - steps;
  double product = 1.0;
  for (int k = 1; k < 9; ++k) product *= double(k) <= steps ? c - double(k) : 1.0;
  const double p = internal::log_gamma_factor(t);
  // log(Gamma(2 + t)) / t on [-1/2, 1/2], error 2^-55.9.
  const double q =
      internal::horner(t, 0.42278433509846713, 0.3224670334241131, -0.06735230105319576, 0.02058080842781109,
                       -0.0073855510288994, 0.0028905103290189074, -0.0011927539029453493, 0.0005096695767598457,
                       -0.00022315493194640371, 9.945665053836827e-05, -4.4924293191804235e-05, 2.051568299373433e-05,
                       -9.452270224666479e-06, 4.324237436675873e-06, -1.9906962826838577e-06, 1.1361147948132115e-06,
                       -5.454292913829411e-07, -1.4460902972821195e-07, -3.22126484775212e-08, 3.500153860157479e-07);
  const double logarithm = log(low || a >= 10.0 ? a : product);
  const double b = a >= 10.0 ? a : 10.0, v = 1.0 / b, u = v * v;
  // The remainder of Stirling's series, times b: error 2^-55.0.
  const double rest =
      internal::horner(u, 0.08333333333333333, -0.0027777777777620305, 0.0007936507798970192, -0.0005952330830006218,
                       0.0008408634809172719, -0.0018400237171896695, 0.003464843507759177);
  const double large = fma(b - 0.5, logarithm - 1.0, fma(v, rest, 0.4189385332046727));
  const double base = t * (first ? p : q), small = low ? base - logarithm : base + logarithm;
  const double positive = a >= 10.0 ? large : small;
  const double s = abs(internal::sin_pi(a)), reflected = log(3.141592653589793 / (a * s)) - positive;
  const double negative = a < 1e-17 ? -logarithm : floor(x) == x ? inf<double>() : reflected;
  return T(a < inf<double>() ? (x < 0.0 ? negative : positive) : a);
}

// The derivative of gammaln. On [1, 2] a polynomial times (x - x0), x0 being the zero, in two parts; below 10 the
// recurrence, then the asymptotic series. psi(-a) = psi(1 + a) + pi cot(pi a).
template <class T>
CT_DEVICE T psi(T given) {
  const double x = given, a = x < 0.0 ? 1.0 - x : x, n = floor(a >= 10.0 ? 10.0 : a);
  const double y = a >= 10.0 ? 1.0 : n == 0.0 ? 1.0 + a : a - (n - 1.0);
  // psi(y) / (y - x0), error 2^-53.0.
  const double p = internal::horner(
      y - 1.5, 0.951055876031833, -0.4236274212814601, 0.24054248424073105, -0.14840492305408895, 0.09498872446086039,
      -0.061922133255423534, 0.040760833497922346, -0.026975797494308215, 0.017907260884067692, -0.011908201581438252,
      0.00792681500353383, -0.005280180180115382, 0.0035202133728579965, -0.0023435205099743123, 0.001549699572812237,
      -0.0010465109279346766, 0.0007473216862671268, -0.0004547405244873372, 0.00018135428682576014,
      -0.0001988227727363511, 0.0002968952225675705, -0.00013826748627519909);
  double small = ((y - 1.4616321449683622) - 9.549995429965697e-17) * p;
  for (int k = 8; k > 0; --k) small += double(k) < n ? 1.0 / (a - double(k)) : 0.0;
  small = n == 0.0 ? small - 1.0 / a : small;
  const double b = a >= 10.0 ? a : 10.0, v = 1.0 / b, u = v * v;
  // (log(b) - 1 / (2 b) - psi(b)) b^2, error 2^-56.0.
  const double rest =
      internal::horner(u, 0.08333333333333333, -0.008333333333316269, 0.0039682539503040955, -0.004166658446909776,
                       0.0075738421002442095, -0.020853697234696936, 0.06783605923121437);
  const double positive = a >= 10.0 ? log(b) - fma(u, rest, 0.5 * v) : small;
  const double r = abs(x) < 1e-17 ? 0.25 : x;
  const double reflected = positive - 3.141592653589793 * (internal::cos_pi(r) / internal::sin_pi(r));
  const double negative = floor(x) == x ? nan<double>() : reflected;
  return T(abs(x) < 1e-17 ? -1.0 / x : x < 0.0 ? negative : positive);
}

// The derivative of psi: 1 / x^2 + 1 / (x + 1)^2 + ..., summed directly up to 10, then the asymptotic series.
template <class T>
CT_DEVICE T tri_gamma(T given) {
  const double x = given, a = x < 0.0 ? 1.0 - x : x;
  const double steps = a < 10.0 ? ceil(10.0 - a) : 0.0, b = a + steps, v = 1.0 / b, u = v * v;
  // (psi'(b) - 1 / b - 1 / (2 b^2)) b^3, error 2^-57.0.
  const double rest =
      internal::horner(u, 0.16666666666666666, -0.033333333333290624, 0.023809523757911174, -0.03333330661761645,
                       0.07575048751598536, -0.2520836634665723, 1.0851144169797762, -3.842559569828877);
  double sum = fma(u * v, rest, fma(0.5, u, v));
  for (int k = 9; k >= 0; --k) sum += double(k) < steps ? 1.0 / ((a + double(k)) * (a + double(k))) : 0.0;
  const double s = internal::sin_pi(x), turn = 3.141592653589793 / s;
  const double negative = floor(x) == x ? inf<double>() : turn * turn - sum;
  return T(x < 0.0 ? negative : sum);
}

// The derivative of psi of order n, (-1)^(n + 1) n! times the sum of (x + k)^-(n + 1): terms up to x + k = 0.8 n + 20,
// then the formula of Euler and Maclaurin. nan if n is not an integer from 0 to 100 or x is below -100.
template <class T>
CT_DEVICE T polygamma(T order, T given) {
  const double n = order, x = given, s = n + 1.0;
  if (n == 0.0) return psi(given);
  if (!(n > 0.0) || n > 100.0 || floor(n) != n || !(x >= -100.0)) return nan<T>();
  if (x <= 0.0 && floor(x) == x) return n - 2.0 * floor(n * 0.5) == 0.0 ? nan<T>() : inf<T>();
  double b = x, sum = 0.0;
  for (; b < 0.8 * n + 20.0; b += 1.0) sum += pow(b, -s);
  const double v = 1.0 / b, u = v * v;
  // B_2j / (2 j)!
  const double c[] = {0.08333333333333333,   -0.001388888888888889,  3.306878306878307e-05,  -8.267195767195768e-07,
                      2.08767569878681e-08,  -5.284190138687493e-10, 1.3382536530684679e-11, -3.3896802963225827e-13,
                      8.586062056277845e-15, -2.174868698558062e-16, 5.5090028283602295e-18, -1.3954464685812524e-19};
  double term = s * v, series = 0.0;
  for (int j = 0; j < 12; ++j) {
    series = fma(c[j], term, series);
    term *= (s + double(2 * j + 1)) * (s + double(2 * j + 2)) * u;
  }
  // The power in halves: times n! it need not underflow.
  const double factor = gamma(s), half = pow(b, -0.5 * n);
  const double result = fma(factor, sum, factor * half * fma(v, 0.5 + series, 1.0 / n) * half);
  return T(n - 2.0 * floor(n * 0.5) == 0.0 ? -result : result);
}

// --- Bessel functions ----------------------------------------------------------------------------

namespace internal {

// exp(a) sqrt(1 / a) p, where exp(a) alone would overflow early.
template <class T>
CT_DEVICE T scaled_exp(T a, T p) {
  const T half = exp(T(0.5) * a);
  return half * (p / sqrt(a)) * half;
}

}  // namespace internal

// The modified functions of the first kind. Up to 8 a polynomial in (x / 2)^2, then exp(x) / sqrt(x) times one in 1 /
// x.
template <class T>
CT_DEVICE T i0(T given) {
  const double x = given, a = abs(x), b = a > 1500.0 ? 1500.0 : a > 8.0 ? a : 8.0, h = a > 8.0 ? 4.0 : 0.5 * a;
  // Errors 2^-65.7 and 2^-55.9.
  const double small =
      internal::horner(h * h, 1.0, 1.0, 0.25, 0.027777777777777776, 0.0017361111111111167, 6.944444444443631e-05,
                       1.9290123456856074e-06, 3.936759888805279e-08, 6.151187338254261e-10, 7.594058153720518e-12,
                       7.594063130326396e-14, 6.276022983146964e-16, 4.358914332835542e-18, 2.5755600200365185e-20,
                       1.330770308279294e-22, 5.414293857709235e-25, 2.9910560062667877e-27, 3.986796824996434e-30);
  const double p =
      internal::horner(1.0 / b, 0.39894228040143304, 0.049867785049507174, 0.028050629589137822, 0.029219208031881196,
                       0.04478994299404861, 0.08293994220291093, 1.0914911863605978, -70.26394835840215,
                       4385.278329995868, -207838.16388051005, 7687619.689701167, -224270718.90430835,
                       5199230661.314415, -96179703467.2743, 1421179175795.4492, -16738583764341.678,
                       156277395556216.28, -1145537501790859.5, 6494218527020163.0, -2.782509282818481e+16,
                       8.690186391861333e+16, -1.8623405638843478e+17, 2.4426868882682582e+17, -1.474504837804248e+17);
  return T(x != x ? x : a > 8.0 ? internal::scaled_exp(b, p) : small);
}
template <class T>
CT_DEVICE T i1(T given) {
  const double x = given, a = abs(x), b = a > 1500.0 ? 1500.0 : a > 8.0 ? a : 8.0, h = a > 8.0 ? 4.0 : 0.5 * a;
  // Errors 2^-63.2 and 2^-55.8.
  const double small =
      a * internal::horner(h * h, 0.5, 0.25, 0.041666666666666664, 0.0034722222222222324, 0.00017361111111109342,
                           5.787037037053472e-06, 1.3778659611057222e-07, 2.460474934227071e-09, 3.417326201706002e-11,
                           3.797030878938234e-13, 3.4518229161189282e-15, 2.6152387883210717e-17,
                           1.6749451773775721e-19, 9.27190015332315e-22, 4.2102628515551376e-24, 2.0890150400104013e-26,
                           6.151626117346801e-29);
  const double p =
      internal::horner(1.0 / b, 0.39894228040143226, -0.14960335514976159, -0.046751049051901125, -0.04090694567317635,
                       -0.0575787766473599, -0.10229444772936871, -1.21331686713455, 76.23159746849959,
                       -4732.555548450486, 223117.28428065547, -8214295.493762596, 238628006.2922434, -5510897740.22233,
                       101586301596.0378, -1496161686182.8438, 17567721358055.314, -163542846015654.44,
                       1195473109811943.2, -6759199326107308.0, 2.8885000954026748e+16, -8.998041049099798e+16,
                       1.923361071127132e+17, -2.516123876530425e+17, 1.5146959406590294e+17);
  return T(x != x ? x : internal::with_sign_of(a > 8.0 ? internal::scaled_exp(b, p) : small, x));
}

// The functions of the first kind. Up to 8 a polynomial in x^2 times the factors of its zeros, which are in two parts;
// then Hankel's expansion, sqrt(2 / (pi x)) (p cos(x - c) - q sin(x - c)).
template <class T>
CT_DEVICE T j0(T given) {
  const double a = abs(double(given)), c = a < 8.0 ? a : 8.0, b = a > 8.0 ? a : 8.0;
  // Error 2^-55.3.
  const double f =
      internal::horner(fma(c, c, -64.0), 8.793873470842997e-05, -1.1646260988991315e-05, 3.892888086377398e-07,
                       -6.262015717146499e-09, 6.057514572923092e-11, -3.95448198572076e-13, 1.8706696426385135e-15,
                       -6.7313694059241244e-18, 1.90886396244299e-20, -4.3827517121904765e-23, 8.321965693857388e-26,
                       -1.3305112729889182e-28, 1.8184587650760236e-31, -2.0339048961487063e-34, 2.995909058939478e-37);
  const double zeros = ((c - 2.404825557695773) + 1.176691651530894e-16) * (c + 2.404825557695773) *
                       (((c - 5.520078110286311) - 8.088597146146722e-17) * (c + 5.520078110286311));
  const double v = 1.0 / b, u = v * v;
  // Errors 2^-60.4 and 2^-54.3.
  const double p = internal::horner(u, 1.0, -0.07031249999998913, 0.11215209955101851, -0.5725013099426784,
                                    6.073934119691361, -109.95415625370343, 3013.8081272066047, -112242.50538878943,
                                    4920901.964754592, -214218352.80575523, 7922437570.087995, -217390537360.22693,
                                    3790449519633.393, -30945683374288.78);
  const double q = v * internal::horner(u, -0.125, 0.07324218749990061, -0.22710800117281435, 1.7277264775207488,
                                        -24.379528152653695, 550.7471026477597, -18028.6642350486, 769823.1732785271,
                                        -37094439.75562312, 1712904689.1647935, -65636872982.40527, 1840741221997.4905,
                                        -32548304219648.098, 268261191425788.8);
  const double sine = sin(b), cosine = cos(b), root = 0.5641895835477563 * sqrt(v);
  const double large = b < inf<double>() ? root * fma(p, cosine + sine, -q * (sine - cosine)) : 0.0;
  return T(a < 8.0 ? zeros * f : a >= 8.0 ? large : a);
}
template <class T>
CT_DEVICE T j1(T given) {
  const double x = given, a = abs(x), c = a < 8.0 ? a : 8.0, b = a > 8.0 ? a : 8.0;
  // Error 2^-56.4.
  const double f =
      internal::horner(fma(c, c, -64.0), 4.0232757124382825e-05, -2.326697718624991e-06, 5.189375913321416e-08,
                       -6.3620935522542e-10, 5.008310435201832e-12, -2.7671915106762254e-14, 1.137350381127633e-16,
                       -3.6235298006258917e-19, 9.228113044012066e-22, -1.924161920206218e-24, 3.34726989699288e-27,
                       -4.949236820056289e-30, 6.198067055501695e-33, -6.953468478741925e-36, 8.097204744604224e-39);
  const double zeros = ((c - 3.8317059702075125) + 1.5269184090088067e-16) * (c + 3.8317059702075125) *
                       (((c - 7.015586669815619) + 9.414165653410389e-17) * (c + 7.015586669815619));
  const double v = 1.0 / b, u = v * v;
  // Errors 2^-60.4 and 2^-55.8.
  const double p = internal::horner(u, 1.0, 0.11718749999998855, -0.14419555657913005, 0.6765924714195368,
                                    -6.883800591940672, 121.53153679436797, -3276.698212392575, 120697.96233187692,
                                    -5255276.427864288, 227862878.78580186, -8408071827.476615, 230414969401.15332,
                                    -4014349110761.4893, 32756879095348.13);
  const double q = v * internal::horner(u, 0.375, -0.10253906249989547, 0.27757644596930114, -1.993530655657389,
                                        27.247774011885387, -603.2249524180903, 19477.55153106916, -824065.0507290111,
                                        39481652.526147716, -1817135466.9874022, 69501062122.60596, -1946996344669.001,
                                        34404411629754.992, -283439866037507.6);
  const double sine = sin(b), cosine = cos(b), root = 0.5641895835477563 * sqrt(v);
  const double large = b < inf<double>() ? root * fma(p, sine - cosine, q * (sine + cosine)) : 0.0;
  const double value = a < 8.0 ? a * (zeros * f) : a >= 8.0 ? large : a;
  return T(x < 0.0 ? -value : x == 0.0 ? x : value);
}

// --- Functions built from others -----------------------------------------------------------------

// 10^x = 2^n 2^f, where f is x log2(10) minus the integer n, in one rounding.
template <class T>
CT_DEVICE T exp10(T given) {
  const double x = given, low = x < -330.0 ? -330.0 : x, c = low > 310.0 ? 310.0 : low;
  const double t = fma(c, 3.321928094887362, 6755399441055744.0), n = t - 6755399441055744.0;
  const double f = fma(c, 1.661617516973592e-16, fma(c, 3.321928094887362, -n));
  return T(internal::scale(internal::exp2_of_fraction(f), bits_of(t) - internal::double_magic + 2046u));
}

// log(1 - exp(x)) for negative x, by the accurate form (Maechler 2012).
template <class T>
CT_DEVICE T log1mexp(T x) {
  const T near = log(-expm1(x)), far = log1p(-exp(x));
  return x < T(-0.6931471805599453) ? far : near;
}

// log(exp(x) + exp(y)) and log2(2^x + 2^y): the larger operand plus a correction by the smaller one.
template <class T>
CT_DEVICE T logaddexp(T x, T y) {
  const double a = x, b = y, larger = maximum(a, b), tail = log1p(exp(-abs(a - b)));
  return T(a == b ? a + 0.6931471805599453 : larger + tail);
}
template <class T>
CT_DEVICE T logaddexp2(T x, T y) {
  const double a = x, b = y, larger = maximum(a, b), tail = log1p(exp2(-abs(a - b)));
  return T(a == b ? a + 1.0 : fma(tail, 1.4426950408889634, larger));
}

// sqrt(x^2 + y^2) without overflow between; inf if one of them is.
template <class T>
CT_DEVICE T hypot(T x, T y) {
  const double a = abs(double(x)), b = abs(double(y)), larger = a > b ? a : b, smaller = a > b ? b : a;
  const double down = larger > 1e150 ? 2.409919865102884e-181 : larger < 1e-150 ? 4.149515568880993e180 : 1.0;
  const double up = larger > 1e150 ? 4.149515568880993e180 : larger < 1e-150 ? 2.409919865102884e-181 : 1.0;
  const double p = larger * down, q = smaller * down, square = p * p, sum = fma(q, q, square);
  const double lost = fma(q, q, square - sum) + fma(p, p, -square), root = sqrt(sum);
  const double mended = root > 0.0 && sum < inf<double>() ? fma(lost, 0.5 / root, root) : root;
  return T(a == inf<double>() || b == inf<double>() ? inf<double>() : mended * up);
}

// sin(pi x) / (pi x); 1 at 0 and exactly 0 at the other whole numbers.
template <class T>
CT_DEVICE T sinc(T given) {
  const double x = given, a = abs(x), product = 3.141592653589793 * a;
  return T(a < 1e-9 ? 1.0 : floor(a) == a ? a - a : internal::sin_pi(a) / product);
}

// --- Signs, neighbours, powers of two ------------------------------------------------------------

template <class T>
CT_DEVICE bool isfinite(T x) {
  if constexpr (is_float<T>)
    return abs(x) < inf<T>();
  else
    return true;
}
// The sign bit, of -0 and nan too.
template <class T>
CT_DEVICE bool signbit(T x) {
  if constexpr (is_float<T>)
    return internal::with_sign_of(T(1), x) < T(0);
  else
    return is_negative(x);
}
template <class T>
CT_DEVICE T copysign(T x, T y) {
  return internal::with_sign_of(abs(x), y);
}
// The larger (smaller) one; the other one if one is nan.
template <class T>
CT_DEVICE T fmax(T x, T y) {
  return x > y || y != y ? x : y;
}
template <class T>
CT_DEVICE T fmin(T x, T y) {
  return x < y || y != y ? x : y;
}

namespace internal {
CT_DEVICE float from_bits_like(float, u32 bits) { return float_from_bits(bits); }
CT_DEVICE double from_bits_like(double, u64 bits) { return double_from_bits(bits); }
}  // namespace internal

// The next number from x in the direction of y.
template <class T>
CT_DEVICE T nextafter(T x, T y) {
  const auto bits = bits_of(x);
  const bool away = (y > x) == (x > T(0));
  const T step = internal::from_bits_like(x, away ? bits + 1u : bits - 1u);
  const T tiny = internal::with_sign_of(internal::from_bits_like(x, decltype(bits)(1)), y);
  return x != x || y != y ? nan<T>() : x == y ? y : x == T(0) ? tiny : step;
}

// x 2^n; n is rounded towards zero. Of three factors only the one that ends below the normal range rounds.
template <class T>
CT_DEVICE T ldexp(T given, T power) {
  const double asked = trunc(double(power)), low = asked < -2200.0 ? -2200.0 : asked;
  i32 left = low != low ? 0 : i32(low > 2200.0 ? 2200.0 : low);
  double x = given;
  for (int k = 0; k < 3; ++k) {
    const i32 n = left > 1023 ? 1023 : left < -1022 ? -969 : left;
    x *= internal::power_of_two(u64(1023 + n));
    left -= n;
  }
  return low != low ? nan<T>() : T(x);
}

// The parts of x = m 2^e with |m| in [1/2, 1); 0, inf and nan are their own m, with e = 0.
template <class T>
CT_DEVICE i32 frexp_exponent(T given) {
  const double x = given, a = abs(x);
  const bool denormal = a < 2.2250738585072014e-308, regular = a > 0.0 && a < inf<double>();
  const double normal = denormal ? a * 18014398509481984.0 : a;
  const i32 e = i32(u32(bits_of(normal) >> 52)) - (denormal ? 1076 : 1022);
  return regular ? e : 0;
}
template <class T>
CT_DEVICE T frexp_mantissa(T given) {
  const double x = given, a = abs(x);
  const bool denormal = a < 2.2250738585072014e-308, regular = a > 0.0 && a < inf<double>();
  const double normal = denormal ? a * 18014398509481984.0 : a;
  const double m = double_from_bits((bits_of(normal) & 0xfffffffffffffull) | 0x3fe0000000000000ull);
  return T(regular ? internal::with_sign_of(m, x) : x);
}

// --- Integers ------------------------------------------------------------------------------------

// The remainder with the sign of x, as C's; 0 (floats: nan) where y is 0.
template <class T>
CT_DEVICE T fmod(T x, T y) {
  if constexpr (is_float<T>) {
    return internal::with_sign_of(internal::remainder_of_magnitudes(abs(x), abs(y)), x);
  } else if constexpr (is_signed_integer<T>) {
    return T(x % (y == T(0) || y == T(-1) ? T(1) : y));
  } else {
    return T(x % (y == T(0) ? T(1) : y));
  }
}

namespace internal {
template <class T>
CT_DEVICE u64 magnitude(T x) {
  return is_negative(x) ? 0 - u64(i64(x)) : u64(x);
}
}  // namespace internal

// The greatest common divisor and the least common multiple of the magnitudes; gcd(0, 0) is 0, products wrap.
template <class T>
CT_DEVICE T gcd(T x, T y) {
  u64 a = internal::magnitude(x), b = internal::magnitude(y);
  while (b != 0) {
    const u64 r = a % b;
    a = b;
    b = r;
  }
  return T(a);
}
template <class T>
CT_DEVICE T lcm(T x, T y) {
  u64 a = internal::magnitude(x), b = internal::magnitude(y);
  const u64 x0 = a, y0 = b;
  while (b != 0) {
    const u64 r = a % b;
    a = b;
    b = r;
  }
  return T(a == 0 ? 0 : x0 / a * y0);
}

// How many bits of the magnitude are 1.
template <class T>
CT_DEVICE u8 bit_count(T x) {
  u64 v = internal::magnitude(x);
  v = v - ((v >> 1) & 0x5555555555555555ull);
  v = (v & 0x3333333333333333ull) + ((v >> 2) & 0x3333333333333333ull);
  v = (v + (v >> 4)) & 0x0f0f0f0f0f0f0f0full;
  return u8((v * 0x0101010101010101ull) >> 56);
}

}  // namespace ct
#endif
