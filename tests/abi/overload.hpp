// How the tests point to one of several C++ functions of one name.
#include <new>

// Picks the overload of a function that has these parameters.
template <class... A> struct Overload {
  template <class R> constexpr auto operator()(R (*f)(A...)) const { return f; }
  template <class R, class C> constexpr auto operator()(R (C::*f)(A...)) const { return f; }
  template <class R, class C> constexpr auto operator()(R (C::*f)(A...) const) const { return f; }
};
