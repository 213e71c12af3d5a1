// C++ that the generator has to take, or to refuse, for tests/abi/cxx_generator_test.ts.
#include <stddef.h>
#include <string>
#include <type_traits>
#define ROOF 9

namespace shop {
enum Colour { RED = 3, BLUE };
enum class Mood { GOOD = 1 };
struct Pair { int first, second; };
struct Crate { int size[3]; };

class _Item {
public:
  enum { LIMIT = 7 };
  enum Kind { PLAIN = -1, FANCY };
  _Item(int grams);
  _Item(const _Item &other);
  virtual ~_Item();
  void move(const Pair &to, Pair by, Kind kind);
  void move(const Pair &to);
  size_t count(const int *sizes, bool all) const;
  std::string label() const;
  static _Item *lightest(_Item *items, Colour colour);
  int twice() { return 2 * grams; }
  void pack(Crate crate);

private:
  int grams;
  double prices[2];
  Colour colour;
  Kind kind;
  struct { const char *text; Pair at; } tag;
};

namespace till {
double total(const _Item &item);
Pair change(Mood mood);
}
inline int half(int number) { return number / 2; }
int half(double number);
template <class T> T same(T);
}
