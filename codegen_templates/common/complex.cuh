// Complex numbers of generated kernels: the same text and the same bits on every device. A device header, numeric.cuh
// and math.cuh come before this text, which uses their real functions.
//  - Products are (ac - bd, ad + bc) and quotients Smith's (1962), as in NumPy: an infinity times a number with a zero
//  or infinite part may be nan, where annex G of C99 would give the infinity.
//  - Functions are computed in double, also for complex<float>: one text, and no intermediate overflow. Their values
//  at zeros, infinities and nans and their branch cuts are those of annex G, in which sin, cos, tan and their inverses
//  are their hyperbolic counterparts rotated by i.
//  - Inverse functions are W. Kahan's (Branch cuts for complex elementary functions, 1987).
#ifndef CT_COMPLEX
#define CT_COMPLEX

namespace ct {

template <class T>
struct complex {
  T re, im;

  complex() = default;
  CT_MEMBER constexpr complex(T real, T imaginary = T(0)) : re(real), im(imaginary) {}
  template <class U>
  CT_MEMBER constexpr explicit complex(complex<U> z) : re(T(z.re)), im(T(z.im)) {}
  CT_MEMBER explicit operator bool() const { return re != T(0) || im != T(0); }
};

// --- Arithmetic ----------------------------------------------------------------------------------

template <class T>
CT_DEVICE complex<T> operator-(complex<T> a) {
  return complex<T>(-a.re, -a.im);
}
template <class T>
CT_DEVICE complex<T> operator+(complex<T> a, complex<T> b) {
  return complex<T>(a.re + b.re, a.im + b.im);
}
template <class T>
CT_DEVICE complex<T> operator-(complex<T> a, complex<T> b) {
  return complex<T>(a.re - b.re, a.im - b.im);
}
template <class T>
CT_DEVICE complex<T> operator*(complex<T> a, complex<T> b) {
  return complex<T>(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}
// Divided by the larger part first, so that no square overflows, and halved where a sum of two parts may. By 0 both
// parts are divided.
template <class T>
CT_DEVICE T larger_part(complex<T> z) {
  return abs(z.re) >= abs(z.im) ? abs(z.re) : abs(z.im);
}
template <class T>
CT_DEVICE complex<T> operator/(complex<T> dividend, complex<T> by) {
  const T most = highest<T>() / T(2);
  const T half = larger_part(dividend) > most || larger_part(by) > most ? T(0.5) : T(1);
  const complex<T> a(dividend.re * half, dividend.im * half), b(by.re * half, by.im * half);
  const bool zero = b.re == T(0) && b.im == T(0), real = abs(b.re) >= abs(b.im);
  const T large = real ? b.re : b.im, small = real ? b.im : b.re, ratio = small / large;
  const T first = real ? a.re : a.im, second = real ? a.im : a.re;
  const T divisor = zero ? abs(b.re) : large + small * ratio;
  const T re = zero ? a.re : first + second * ratio, im = zero ? a.im : second - first * ratio;
  return complex<T>(re / divisor, (real ? im : -im) / divisor);
}
template <class T>
CT_DEVICE bool operator==(complex<T> a, complex<T> b) {
  return a.re == b.re && a.im == b.im;
}
template <class T>
CT_DEVICE bool operator!=(complex<T> a, complex<T> b) {
  return a.re != b.re || a.im != b.im;
}

// --- Parts, of real numbers too ------------------------------------------------------------------

template <class T>
CT_DEVICE T real(complex<T> z) {
  return z.re;
}
template <class T>
CT_DEVICE T real(T x) {
  return x;
}
template <class T>
CT_DEVICE T imag(complex<T> z) {
  return z.im;
}
template <class T>
CT_DEVICE T imag(T) {
  return T(0);
}
template <class T>
CT_DEVICE complex<T> conj(complex<T> z) {
  return complex<T>(z.re, -z.im);
}
template <class T>
CT_DEVICE T conj(T x) {
  return x;
}
template <class T>
CT_DEVICE bool isinf(complex<T> z) {
  return isinf(z.re) || isinf(z.im);
}
template <class T>
CT_DEVICE bool isfinite(complex<T> z) {
  return abs(z.re) < inf<T>() && abs(z.im) < inf<T>();
}

namespace internal {

typedef complex<f64> c128;

CT_DEVICE bool is_finite(f64 x) { return abs(x) < inf<f64>(); }

// with_sign_of for directions that may be nan, of which the result need not be: the sign of a nan is the processor's, and
// counts as positive.
CT_DEVICE f64 directed(f64 magnitude, f64 direction) {
  return direction == direction ? with_sign_of(magnitude, direction) : magnitude;
}

// Powers of two that bring the larger part where its square neither overflows nor vanishes, and their square roots.
struct Scale {
  f64 up, root_down;
};
CT_DEVICE Scale scale_for(f64 x, f64 y) {
  const f64 large = abs(x) > abs(y) ? abs(x) : abs(y);
  return large > 3.2733906078961419e150    ? Scale{2.4099198651028841e-181, 2.0370359763344861e90}   // 2^-600, 2^300
         : large < 3.0549363634996047e-151 ? Scale{4.1495155688809930e180, 4.9090934652977266e-91}   // 2^600, 2^-300
                                           : Scale{1.0, 1.0};
}

CT_DEVICE f64 magnitude(f64 x, f64 y) {
  const Scale s = scale_for(x, y);
  const f64 a = x * s.up, b = y * s.up;
  const f64 result = sqrt(fma(a, a, b * b)) * (s.root_down * s.root_down);
  return isinf(x) || isinf(y) ? inf<f64>() : result;
}

// exp(x) cos(y) and exp(x) sin(y) may be finite where exp(x) is not.
CT_DEVICE c128 exp_of(f64 x, f64 y) {
  const bool large = x > 700.0;
  const f64 power = exp(large ? x - 64.0 : x), factor = large ? 6.235149080811617e27 : 1.0;  // e^64
  const bool turns = is_finite(y);
  const f64 re = power * cos(y) * factor, im = y == 0.0 ? y : power * sin(y) * factor;
  const bool vanishes = x == -inf<f64>() && !turns, grows = x == inf<f64>() && !turns;
  return c128(vanishes ? 0.0 : grows ? x : re, vanishes ? 0.0 : im);
}

// Near |z| = 1 the logarithm is that of x^2 + y^2 - 1 + 1, the squares taken in two parts each.
CT_DEVICE c128 log_of(f64 x, f64 y) {
  const f64 a = abs(x), b = abs(y), large = a > b ? a : b, small = a > b ? b : a;
  const f64 square = large * large, low = fma(large, large, -square);
  const f64 other = small * small, other_low = fma(small, small, -other);
  const f64 excess = ((square - 1.0) + other) + (low + other_low);
  const bool near_one = square >= 0.5 && square + other <= 2.0;
  // Of parts that overflow or vanish together half is taken first, and its logarithm added.
  const Scale s = scale_for(x, y);
  const f64 scaled = magnitude(x * s.up, y * s.up);
  const f64 exponent = s.up > 1.0 ? -415.88830833596718 : s.up < 1.0 ? 415.88830833596718 : 0.0;  // 600 log(2)
  const f64 far = isinf(x) || isinf(y) ? inf<f64>() : log(scaled) + exponent;
  return c128(near_one ? 0.5 * log1p(excess) : far, atan2(y, x));
}

// Near 0 the sums with 1 would lose all digits.
CT_DEVICE c128 expm1_of(f64 x, f64 y) {
  const c128 power = exp_of(x, y);
  const f64 half = sin(0.5 * y);
  return c128(abs(x) <= 1.0 ? fma(expm1(x), cos(y), -2.0 * half * half) : power.re - 1.0, power.im);
}
CT_DEVICE c128 log1p_of(f64 x, f64 y) {
  const c128 far = log_of(1.0 + x, y);
  const bool near = abs(x) < 0.5 && abs(y) < 0.5;
  return c128(near ? 0.5 * log1p(fma(x, x + 2.0, y * y)) : far.re, far.im);
}

CT_DEVICE c128 sqrt_of(f64 x, f64 y) {
  const Scale s = scale_for(x, y);
  const f64 a = x * s.up, b = y * s.up;
  const f64 root = sqrt(0.5 * (abs(a) + magnitude(a, b)));
  const f64 major = root * s.root_down, minor = root == 0.0 ? 0.0 : abs(y) / (2.0 * major);
  const bool right = with_sign_of(1.0, x) > 0.0;
  f64 re = right ? major : minor, im = right ? minor : major;
  const f64 infinity = inf<f64>();
  if (isinf(y)) {
    re = im = infinity;
  } else if (isinf(x)) {
    re = x > 0.0 ? infinity : y != y ? y : 0.0;
    im = x > 0.0 ? (y != y ? y : 0.0) : infinity;
  } else if (x != x || y != y) {
    re = im = nan<f64>();
  }
  return c128(re, directed(im, y));
}

// sinh(x) and cosh(x) without the factor that overflows before they are multiplied.
struct Hyperbolic {
  f64 sinh, cosh, factor;
};
CT_DEVICE Hyperbolic hyperbolic(f64 x) {
  const bool large = abs(x) > 700.0;
  const f64 half = 0.5 * exp(large ? abs(x) - 64.0 : 0.0);
  return large ? Hyperbolic{with_sign_of(half, x), half, 6.235149080811617e27} : Hyperbolic{sinh(x), cosh(x), 1.0};
}

CT_DEVICE c128 sinh_of(f64 x, f64 y) {
  const Hyperbolic h = hyperbolic(x);
  const f64 re = h.sinh * cos(y) * h.factor, im = h.cosh * sin(y) * h.factor;
  const bool keeps = !is_finite(y) && (x == 0.0 || isinf(x));
  return c128(keeps ? x : re, y == 0.0 ? y : im);
}
CT_DEVICE c128 cosh_of(f64 x, f64 y) {
  const Hyperbolic h = hyperbolic(x);
  const f64 re = h.cosh * cos(y) * h.factor, im = h.sinh * sin(y) * h.factor;
  const bool flat = x == 0.0 || y == 0.0;  // 0 times an infinity or a nan
  const f64 zero = with_sign_of(1.0, x) < 0.0 ? -y : y;
  return c128(isinf(x) && !is_finite(y) ? inf<f64>() : re,
              flat ? (y == 0.0 ? (x == x ? zero : 0.0) : is_finite(y) ? im : 0.0) : im);
}

CT_DEVICE c128 tanh_of(f64 x, f64 y) {
  const f64 t = tan(y), beta = 1.0 + t * t, s = sinh(abs(x) > 22.0 ? 22.0 : x), rho = sqrt(1.0 + s * s);
  const f64 divisor = 1.0 + beta * s * s;
  const bool large = abs(x) > 22.0;
  const f64 lost = isinf(x) || is_finite(y) ? 0.0 : nan<f64>();  // no direction, and no limit in its place
  const f64 tail = is_finite(y) ? 4.0 * sin(y) * cos(y) * exp(-2.0 * abs(x)) : lost;
  const f64 re = large ? with_sign_of(1.0, x) + lost : beta * rho * s / divisor, im = large ? tail : t / divisor;
  return c128(!large && x == 0.0 ? x : re, y == 0.0 ? y : im);
}

// The square roots of 1 - z and 1 + z.
struct Roots {
  c128 minus, plus;
};
CT_DEVICE Roots roots_of(f64 x, f64 y) { return {sqrt_of(1.0 - x, -y), sqrt_of(1.0 + x, y)}; }

// Of numbers beyond 2^60 only the logarithm of 2z and the direction are seen.
CT_DEVICE bool is_huge(f64 x, f64 y) { return abs(x) > 1.1529215046068470e18 || abs(y) > 1.1529215046068470e18; }
CT_DEVICE f64 log_of_twice(f64 x, f64 y) { return log_of(x, y).re + 0.6931471805599453; }

CT_DEVICE c128 asin_of(f64 x, f64 y) {
  const Roots r = roots_of(x, y);
  const f64 re = atan2(x, r.minus.re * r.plus.re - r.minus.im * r.plus.im);
  const f64 im = asinh(r.minus.re * r.plus.im - r.minus.im * r.plus.re);
  const bool huge = is_huge(x, y);
  return c128(x == 0.0 ? x : huge ? atan2(x, abs(y)) : re, directed(abs(huge ? log_of_twice(x, y) : im), y));
}
CT_DEVICE c128 acos_of(f64 x, f64 y) {
  const Roots r = roots_of(x, y);
  const f64 re = 2.0 * atan2(r.minus.re, r.plus.re);
  const f64 im = asinh(r.plus.re * r.minus.im - r.plus.im * r.minus.re);
  const bool huge = is_huge(x, y);
  return c128(x == 0.0 ? half_pi(x) : huge ? atan2(abs(y), x) : re,
              directed(abs(huge ? log_of_twice(x, y) : im), -y));
}
CT_DEVICE c128 acosh_of(f64 x, f64 y) {
  const c128 w = acos_of(x, y);  // turned by i into the right half plane
  return c128(abs(w.im), directed(w.re, y));
}

// The real part of atanh is log(((1 + x)^2 + y^2) / ((1 - x)^2 + y^2)) / 4.
CT_DEVICE c128 atanh_of(f64 x, f64 y) {
  const f64 a = abs(x);
  const bool huge = is_huge(a, y);
  const f64 gap = 1.0 - a, square = y * y;
  // Next to 1 the square of y may underflow.
  const bool beside_one = gap == 0.0 && abs(y) < 1e-100;
  const f64 near = beside_one ? 0.5 * (0.6931471805599453 - log(abs(y))) : 0.25 * log1p(4.0 * a / (gap * gap + square));
  const f64 far = isinf(x) || isinf(y) ? 0.0 : real(c128(1.0) / c128(a, y));
  const f64 re = huge ? far : near;
  const f64 angle = 0.5 * atan2(2.0 * y, gap * (1.0 + a) - square);
  const f64 quarter = with_sign_of(half_pi(y), y);
  const bool y_nan = y != y, x_nan = x != x;
  const f64 im = huge ? (y_nan ? y : x_nan && !isinf(y) ? x : quarter) : angle;
  return c128(directed(a == 0.0 && y_nan ? 0.0 : re, x), im);
}

// Multiplied out for whole exponents of at most 63, which are exact where the products are; else by the logarithm.
CT_DEVICE c128 pow_of(c128 a, c128 b) {
  const bool whole = b.im == 0.0 && abs(b.re) <= 63.0 && rint(b.re) == b.re;
  const u32 count = whole ? u32(abs(b.re)) : 0u;
  c128 product(1.0), square = a;
  for (u32 bit = 1; bit < 64u; bit += bit) {
    if ((count & bit) != 0) product = product * square;
    square = square * square;
  }
  if (whole) return b.re < 0.0 ? c128(1.0) / product : product;
  const c128 l = log_of(a.re, a.im), e = b * l;
  const c128 zero = b.re > 0.0 ? c128(0.0) : c128(nan<f64>(), nan<f64>());
  return a == c128(0.0) ? zero : exp_of(e.re, e.im);
}

}  // namespace internal

// --- Functions -----------------------------------------------------------------------------------

template <class T>
CT_DEVICE T abs(complex<T> z) {
  return T(internal::magnitude(f64(z.re), f64(z.im)));
}
// The angle of z, in [-pi, pi]; that of a real number is 0 or pi.
template <class T>
CT_DEVICE T angle(complex<T> z) {
  return atan2(z.im, z.re);
}
template <class T>
CT_DEVICE T angle(T x) {
  return atan2(T(0), x);
}
// z / |z|, and 0 of 0.
template <class T>
CT_DEVICE complex<T> sgn(complex<T> z) {
  const f64 x = f64(z.re), y = f64(z.im), size = internal::magnitude(x, y);
  const bool far = isinf(size);
  const f64 a = far ? (isinf(x) ? internal::with_sign_of(1.0, x) : 0.0) : x;
  const f64 b = far ? (isinf(y) ? internal::with_sign_of(1.0, y) : 0.0) : y;
  const f64 divisor = far ? (isinf(x) == isinf(y) || x != x || y != y ? nan<f64>() : 1.0) : size;
  return size == 0.0 ? complex<T>(T(0)) : complex<T>(T(a / divisor), T(b / divisor));
}
template <class T>
CT_DEVICE complex<T> from_polar(T radius, T angle) {
  return complex<T>(T(f64(radius) * cos(f64(angle))), T(f64(radius) * sin(f64(angle))));
}

template <class T>
CT_DEVICE complex<T> exp(complex<T> z) {
  return complex<T>(internal::exp_of(f64(z.re), f64(z.im)));
}
template <class T>
CT_DEVICE complex<T> exp2(complex<T> z) {
  return complex<T>(internal::exp_of(f64(z.re) * 0.6931471805599453, f64(z.im) * 0.6931471805599453));
}
template <class T>
CT_DEVICE complex<T> log(complex<T> z) {
  return complex<T>(internal::log_of(f64(z.re), f64(z.im)));
}
template <class T>
CT_DEVICE complex<T> log2(complex<T> z) {
  const internal::c128 w = internal::log_of(f64(z.re), f64(z.im));
  return complex<T>(T(w.re * 1.4426950408889634), T(w.im * 1.4426950408889634));
}
template <class T>
CT_DEVICE complex<T> log10(complex<T> z) {
  const internal::c128 w = internal::log_of(f64(z.re), f64(z.im));
  return complex<T>(T(w.re * 0.4342944819032518), T(w.im * 0.4342944819032518));
}
template <class T>
CT_DEVICE complex<T> expm1(complex<T> z) {
  return complex<T>(internal::expm1_of(f64(z.re), f64(z.im)));
}
template <class T>
CT_DEVICE complex<T> log1p(complex<T> z) {
  return complex<T>(internal::log1p_of(f64(z.re), f64(z.im)));
}
template <class T>
CT_DEVICE complex<T> sqrt(complex<T> z) {
  return complex<T>(internal::sqrt_of(f64(z.re), f64(z.im)));
}
template <class T>
CT_DEVICE complex<T> pow(complex<T> a, complex<T> b) {
  return complex<T>(internal::pow_of(internal::c128(a), internal::c128(b)));
}

template <class T>
CT_DEVICE complex<T> sinh(complex<T> z) {
  return complex<T>(internal::sinh_of(f64(z.re), f64(z.im)));
}
template <class T>
CT_DEVICE complex<T> cosh(complex<T> z) {
  return complex<T>(internal::cosh_of(f64(z.re), f64(z.im)));
}
template <class T>
CT_DEVICE complex<T> tanh(complex<T> z) {
  return complex<T>(internal::tanh_of(f64(z.re), f64(z.im)));
}
template <class T>
CT_DEVICE complex<T> asin(complex<T> z) {
  return complex<T>(internal::asin_of(f64(z.re), f64(z.im)));
}
template <class T>
CT_DEVICE complex<T> acos(complex<T> z) {
  return complex<T>(internal::acos_of(f64(z.re), f64(z.im)));
}
template <class T>
CT_DEVICE complex<T> acosh(complex<T> z) {
  return complex<T>(internal::acosh_of(f64(z.re), f64(z.im)));
}
template <class T>
CT_DEVICE complex<T> atanh(complex<T> z) {
  return complex<T>(internal::atanh_of(f64(z.re), f64(z.im)));
}

// Turned by i: sin(z) = -i sinh(iz) and so on.
template <class T>
CT_DEVICE complex<T> sin(complex<T> z) {
  const internal::c128 w = internal::sinh_of(-f64(z.im), f64(z.re));
  return complex<T>(T(w.im), T(-w.re));
}
template <class T>
CT_DEVICE complex<T> cos(complex<T> z) {
  return complex<T>(internal::cosh_of(-f64(z.im), f64(z.re)));
}
template <class T>
CT_DEVICE complex<T> tan(complex<T> z) {
  const internal::c128 w = internal::tanh_of(-f64(z.im), f64(z.re));
  return complex<T>(T(w.im), T(-w.re));
}
template <class T>
CT_DEVICE complex<T> asinh(complex<T> z) {
  const internal::c128 w = internal::asin_of(-f64(z.im), f64(z.re));
  return complex<T>(T(w.im), T(-w.re));
}
template <class T>
CT_DEVICE complex<T> atan(complex<T> z) {
  const internal::c128 w = internal::atanh_of(-f64(z.im), f64(z.re));
  return complex<T>(T(w.im), T(-w.re));
}

}  // namespace ct
#endif
