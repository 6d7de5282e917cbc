// Addresses that go on from step to step of a loop.
#ifndef CT_MOTION
#define CT_MOTION

namespace ct {

// In bytes: from row to row of what is shared out among threads, and from step to step; or, of a ring, from slot to
// slot, where it begins and how many slots it has.
struct Motion {
  index row, step, slot, slots;
};

template <class T>
CT_DEVICE T* moved(T* base, index bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<unsigned long long>(base) + (unsigned long long)bytes);
}
CT_DEVICE index next_slot(index slot, index slots) { return slot + 1 < slots ? slot + 1 : 0; }

}  // namespace ct
#endif
