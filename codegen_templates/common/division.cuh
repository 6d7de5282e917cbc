// Division of positions by sizes that are known when a kernel is launched: a multiplication and a shift
// (T. Granlund, P. Montgomery, Division by invariant integers using multiplication, 1994). For a dividend below 2^b and
// 2^(l-1) < d <= 2^l, floor(n / d) = floor(n m / 2^(b+l)) with m = floor(2^(b+l) / d) + 1, since m d - 2^(b+l) <= 2^l.
// The host computes m and the shift (codegen/division.cpp).
#ifndef CT_DIVISION
#define CT_DIVISION

namespace ct {

template <class Index>
struct Divisor;

// Of positions below 2^31.
template <>
struct Divisor<int> {
  unsigned int multiplier, shift;  // 31 + l

  CT_MEMBER int divide(int n) const { return int(((unsigned long long)multiplier * (unsigned int)n) >> shift); }
};

// Of positions below 2^63.
template <>
struct Divisor<index> {
  unsigned long long multiplier, shift;  // l; 0: of the divisor 1, whose multiplier has no 64 bits

  CT_MEMBER index divide(index n) const {
    return shift == 0 ? n : index(multiply_high(multiplier, (unsigned long long)n) >> (shift - 1));
  }
};

}  // namespace ct
#endif
