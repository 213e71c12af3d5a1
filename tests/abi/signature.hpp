// Compares a C function's type with what a symbol table says of it, in C++14 and without any header.

// With a prefix: OpenVINO's headers have enumerators of the plain names.
enum Native {
  FFI_VOID,
  FFI_BUFFER,
  FFI_U8,
  FFI_I8,
  FFI_U16,
  FFI_I16,
  FFI_U32,
  FFI_I32,
  FFI_U64,
  FFI_I64,
  FFI_F32,
  FFI_F64,
  FFI_STRUCT
};

template <class T, class = void> struct Fits {
  static constexpr bool fractional = (T)0.5 != (T)0;
  static constexpr bool negative = (T)-1 < (T)0;
  static constexpr bool as(Native native) {
    return native == (sizeof(T) == 1   ? (negative ? FFI_I8 : FFI_U8)
                      : sizeof(T) == 2 ? (negative ? FFI_I16 : FFI_U16)
                      : sizeof(T) == 4 ? (fractional ? FFI_F32 : negative ? FFI_I32 : FFI_U32)
                                       : (fractional ? FFI_F64 : negative ? FFI_I64 : FFI_U64));
  }
};
template <class T> struct Fits<T *> {
  static constexpr bool as(Native native) { return native == FFI_BUFFER || native == FFI_U64; }
};
template <> struct Fits<void> {
  static constexpr bool as(Native native) { return native == FFI_VOID; }
};

// Whether the result and the named parameters are as the first entries of `table` say.
template <class R, class... A> constexpr bool begins(const Native *table) {
  const Native *next = table;
  const bool each[] = {Fits<R>::as(*next), Fits<A>::as(*++next)...};
  for (bool fits : each)
    if (!fits) return false;
  return true;
}

// `table` is the result, then the parameters.
template <class R, class... A, unsigned long N> constexpr bool is(R (*)(A...), const Native (&table)[N]) {
  return N == sizeof...(A) + 1 && begins<R, A...>(table);
}

// What follows a variadic function's named parameters, if anything does, has to be an integer or a pointer.
template <class R, class... A, unsigned long N> constexpr bool is(R (*)(A..., ...), const Native (&table)[N]) {
  if (N < sizeof...(A) + 1 || !begins<R, A...>(table)) return false;
  for (unsigned long i = sizeof...(A) + 1; i < N; i++)
    if (table[i] != FFI_BUFFER && (table[i] < FFI_U32 || table[i] > FFI_I64)) return false;
  return true;
}
