// Declarations that the generator has to take, or to refuse, for tests/abi/generator_test.ts.
#include <stddef.h>

typedef struct widget *Widget;
typedef struct { int x; double y; } Point;
typedef enum { COLOUR_RED = 3, COLOUR_BLUE } Colour;
enum status { STATUS_BAD = -1, STATUS_GOOD };
typedef enum { PACE_BACK = -1, PACE_STILL, PACE_FAST = 127 } __attribute__((packed)) Pace;
typedef enum { LOAD_LIGHT, LOAD_HEAVY = 255, LOAD_FULL } __attribute__((packed)) Load;
typedef struct {
  Widget owner;
  const char *label;
  Colour colour;
  unsigned char tag;
  float weight;
  void (*on_close)(Widget);
} Record;
struct table {
  int version;
  enum status (*paint)(Widget widget, void *pixels, void (*done)(Widget, void *));
  const char *( * title)(Widget);
  void (*close)(Widget input);
};
struct flags { int on : 1; };
struct matrix { int cells[4]; };
typedef struct { char bytes[16]; } Stamp;
struct drawing {
  Point at;
  union { Widget widget; struct { const void *pixels; long pitch; } plain; } what;
  const Widget *all;
  struct matrix turn;
  char name[8];
};

#define LIMIT 0xFFFFFFFFu
#define MASK (~0ull)
#define BOTTOM (-5)
#define E_FIRST 1
#define E_ALIAS E_FIRST
#define E_OTHER 1
#define VERSION(x) (x)
#define TITLE "fixture"
#define REMOVED 1
#undef REMOVED
#ifdef __x86_64__
#define DIFFERS 1
#else
#define DIFFERS 2
#endif

Widget widget_open(const char *title, size_t count, const size_t *sizes, Colour colour);
enum status widget_paint(Widget widget, void *pixels, void (*done)(Widget, void *), long long when);
Pace widget_pace(Widget widget, Load load);
void widget_log(Widget widget, const char *format, ...);
Point widget_place(Widget widget);
void widget_move(Widget widget, Point to);
void widget_letter(char letter);
void widget_stamp(Stamp stamp);
void widget_turn(struct matrix by);
void widget_flag(struct flags flags);
void widget_draw(struct drawing drawing);
void widget_close(const struct widget *widget);
