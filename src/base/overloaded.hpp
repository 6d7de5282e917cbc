// One function of several, for std::visit: each alternative goes to the one that takes it.
#pragma once

namespace croton::base {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace croton::base
