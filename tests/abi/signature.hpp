// Compares a C function's type with what a symbol table says of it, in C++14 and without any header.

enum Native { VOID, BUFFER, U8, I8, U16, I16, U32, I32, U64, I64, F32, F64, STRUCT };

template <class T, class = void> struct Fits {
  static constexpr bool fractional = (T)0.5 != (T)0;
  static constexpr bool negative = (T)-1 < (T)0;
  static constexpr bool as(Native native) {
    return native == (sizeof(T) == 1   ? (negative ? I8 : U8)
                      : sizeof(T) == 2 ? (negative ? I16 : U16)
                      : sizeof(T) == 4 ? (fractional ? F32 : negative ? I32 : U32)
                                       : (fractional ? F64 : negative ? I64 : U64));
  }
};
template <class T> struct Fits<T *> {
  static constexpr bool as(Native native) { return native == BUFFER || native == U64; }
};
template <> struct Fits<void> {
  static constexpr bool as(Native native) { return native == VOID; }
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

// What follows a variadic function's named parameters has to be an integer or a pointer.
template <class R, class... A, unsigned long N> constexpr bool is(R (*)(A..., ...), const Native (&table)[N]) {
  if (N <= sizeof...(A) + 1 || !begins<R, A...>(table)) return false;
  for (unsigned long i = sizeof...(A) + 1; i < N; i++)
    if (table[i] != BUFFER && (table[i] < U32 || table[i] > I64)) return false;
  return true;
}
