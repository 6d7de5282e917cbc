// Addresses that change from step to step of a loop.
#ifndef CT_MOTION
#define CT_MOTION

namespace ct {

// Strides in bytes: from row to row of the rows that threads divide among themselves, and from step to step; or, for a
// ring buffer, from slot to slot, with its first slot and the number of slots.
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
