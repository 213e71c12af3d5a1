// What signature.hpp needs besides for C++: members, references, enums and objects.
#include <type_traits>

// A reference is passed as a pointer is.
template <class T> struct Fits<T &> : Fits<T *> {};

template <class T>
struct Fits<T, typename std::enable_if<std::is_enum<T>::value>::type> : Fits<typename std::underlying_type<T>::type> {};

// An object that is passed in one register: of one word, and nothing has to be done when it is copied or dies.
template <class T> struct Fits<T, typename std::enable_if<std::is_class<T>::value>::type> {
  static constexpr bool as(Native native) {
    return native == FFI_U64 && sizeof(T) == 8 && std::is_trivially_copyable<T>::value &&
           std::is_trivially_destructible<T>::value;
  }
};

// The function that does the same and has no hidden `this`.
template <class R, class... A> constexpr auto flat(R (*f)(A...)) { return f; }
template <class R, class C, class... A> constexpr auto flat(R (C::*)(A...)) { return (R(*)(C *, A...))nullptr; }
template <class R, class C, class... A> constexpr auto flat(R (C::*)(A...) const) { return (R(*)(C *, A...))nullptr; }

// The function that does the same and gets the address where the object that it returns goes.
template <class R, class... A> constexpr auto sret(R (*)(A...)) {
  static_assert(!std::is_trivially_copyable<R>::value, "it would be returned in registers");
  return (void (*)(R *, A...))nullptr;
}
