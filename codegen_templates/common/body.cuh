// Helpers of the bodies of kernels.
#ifndef CT_BODY
#define CT_BODY

namespace ct {

CT_DEVICE bool invert(bool x) { return !x; }
template <class T>
CT_DEVICE T invert(T x) {
  return T(~x);
}
// |x| of integers; that of the lowest one is itself, as in NumPy.
template <class T>
CT_DEVICE T abs(T x) {
  if constexpr (is_signed_integer<T>)
    return x < 0 ? negate(x) : x;
  else
    return x;
}

// One word of memory in which a failed check leaves its number and the value at fault; 0 while all is well. The first
// one stays on the CPU; on a GPU two checks that fail at once may mix, and the host then says only that a check failed.
struct Failure {
  unsigned int check;  // number of the check, from 1
  unsigned int low;    // the value
  unsigned int high;
};

CT_DEVICE void report(Failure* failure, unsigned int check, i64 value) {
  volatile Failure* const word = failure;  // several threads may come here at once
  if (word->check != 0) return;
  word->low = u32(u64(value));
  word->high = u32(u64(value) >> 32);
  word->check = check;
}

// The number of a check that failed is kept in a register, the largest of several, until the work item ends.
CT_DEVICE void note(unsigned int& bad, bool passes, unsigned int check) {
  const unsigned int here = passes ? 0u : check;
  bad = bad < here ? here : bad;
}

}  // namespace ct
#endif
