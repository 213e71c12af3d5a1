// What signature.hpp needs besides for C's enums, and for structs by value.

template <bool> struct If {};
template <> struct If<true> { using Then = void; };

// Its constants may be promoted to another type than the one that stores them.
template <class T> struct Fits<T, typename If<__is_enum(T)>::Then> : Fits<__underlying_type(T)> {};

template <class T> struct Fits<T, typename If<__is_class(T)>::Then> {
  static constexpr bool as(Native native) { return native == FFI_STRUCT && __is_trivially_copyable(T); }
};

// A plain char is a byte.
template <> struct Fits<char> {
  static constexpr bool as(Native native) { return native == FFI_U8; }
};

// Initializes what `native` fits, and nothing else.
template <Native native> struct As {
  template <class T, class = typename If<Fits<T>::as(native)>::Then> operator T() const;
};

// The bytes of a struct that holds these.
template <unsigned long N> constexpr unsigned long bytes(const Native (&natives)[N]) {
  unsigned long size = 0, align = 1;
  for (Native native : natives) {
    unsigned long own = native <= FFI_I8 ? 1 : native <= FFI_I16 ? 2 : native <= FFI_I32 || native == FFI_F32 ? 4 : 8;
    size = (size + own - 1) / own * own + own;
    align = own > align ? own : align;
  }
  return (size + align - 1) / align * align;
}

// Whether a struct holds these, in this order, and nothing else. An array's elements count one by one.
template <class T, Native... natives> constexpr auto holds(int) -> decltype(T{As<natives>{}...}, true) {
  return sizeof(T) == bytes({natives...});
}
template <class T, Native...> constexpr bool holds(...) { return false; }

// Whether a struct is so many 64-bit words, and more than registers hold.
template <class T> constexpr bool hasWords(unsigned long words) {
  return sizeof(T) == 8 * words && alignof(T) == 8 && words > 2;
}

// The type of a function's parameter.
template <unsigned i, class F> struct Parameter;
template <unsigned i, class R, class... A> struct Parameter<i, R (*)(A...)> {
  using Type = __type_pack_element<i, A...>;
};
template <unsigned i, class R, class... A> struct Parameter<i, R (*)(A..., ...)> : Parameter<i, R (*)(A...)> {};
