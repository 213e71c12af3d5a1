// What the tests of the guard call: functions that throw in the ways that C++ has.
#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

// Objects on the stack of frames that an exception passes: each has to be destroyed.
int destroyed = 0;
struct OnStack {
  ~OnStack() { destroyed++; }
};

// Exceptions that are alive: none may be left.
int alive = 0;
struct Counted {
  Counted() { alive++; }
  Counted(const Counted&) { alive++; }
  ~Counted() { alive--; }
};

struct Hidden : std::logic_error {
  Hidden() : std::logic_error("hidden") {}
};

struct Private : private std::exception {};

void descend(int depth) {
  OnStack object;
  if (depth == 0) throw std::runtime_error("from below");
  descend(depth - 1);
}

}  // namespace

namespace test {

struct Plain {
  int code;
  Counted counted;
};

struct Mixin {
  virtual ~Mixin() = default;
  long long mixed = 0x1122334455667788;
};

// Its std::exception is not its first part.
struct Second : Mixin, std::runtime_error {
  explicit Second(int code) : std::runtime_error("second"), code(code) {}
  int code;
  Counted counted;
};

struct Virtual : virtual std::exception {
  const char* what() const noexcept override { return "virtual"; }
  Counted counted;
};

struct Silent : std::exception {
  const char* what() const noexcept override { return nullptr; }
};

template <class T>
struct Wrap {};

// A type with a name of some hundred characters.
template <int depth>
struct Nest {
  using Type = Wrap<typename Nest<depth - 1>::Type>;
};
template <>
struct Nest<0> {
  using Type = int;
};

}  // namespace test

EXPORT int throwAs(int how) {
  switch (how) {
    case 1: throw 42;
    case 2: throw std::runtime_error("it broke");
    case 3: throw test::Plain{7, {}};
    case 4: throw test::Second(9);
    case 5: throw test::Virtual();
    case 6: throw Hidden();
    case 7: throw Private();
    case 8: throw "a text";
    case 9: throw std::string("a string");
    case 10: throw std::bad_alloc();
    case 11: throw test::Silent();
    case 12: throw std::runtime_error("gr\xc3\xbc\xc3\x9f, \xff");
    case 13: throw std::runtime_error(std::string(100000, 'x'));
    case 14: std::rethrow_exception(std::make_exception_ptr(test::Second(10)));
    case 15:
      try {
        throw test::Plain{8, {}};
      } catch (...) {
        std::throw_with_nested(std::runtime_error("outer"));
      }
    case 16: throw nullptr;
    case 17: throw test::Nest<64>::Type();
  }
  return how;
}

EXPORT void throwFrom(int depth) { descend(depth); }
EXPORT double throwDouble(double x) { return x < 0 ? throw std::domain_error("negative") : x; }
EXPORT int takeDestroyed() { int n = destroyed; destroyed = 0; return n; }
EXPORT int countAlive() { return alive; }
EXPORT int which() { return WHICH; }
EXPORT void throwWhich() { throw std::runtime_error(std::to_string(WHICH)); }

// C++ that catches its own exceptions below a thunk.
EXPORT int nested(int how) {
  int caught = 0;
  for (int i = 0; i < 3; i++) {
    try {
      throwAs(how);
    } catch (...) {
      caught++;
    }
  }
  return caught;
}
