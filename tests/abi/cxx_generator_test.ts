import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { FunctionEntry, Library } from "../../ffi/generate/library.ts";
import { readModel } from "../../ffi/generate/read/mod.ts";
import { write } from "../../ffi/generate/write/mod.ts";
import { abiTest } from "./tools.ts";

/** A list over fixture.hpp. */
function fixture(parts: Partial<Library>): Library {
  return {
    name: "fixture",
    interface: "Fixture",
    headers: [new URL("fixture.hpp", import.meta.url).pathname],
    defines: {},
    cxx: { namespace: "shop", inRegister: ["shop::Pair"] },
    functions: [],
    constants: [],
    structs: [],
    ...parts,
  };
}

/** A generated file. */
async function written(library: Library, file: string): Promise<string> {
  return (await write(library, await readModel(library))).get(file) ?? "";
}

abiTest("a C++ function becomes a symbol with its mangled name, and what C++ passes unseen a parameter", async () => {
  const library = fixture({
    functions: [
      { name: "shop::_Item::_Item", as: "Item_construct", parameters: ["int"] },
      { name: "shop::_Item::~_Item", as: "Item_destruct" },
      {
        name: "shop::_Item::move",
        as: "Item_move",
        parameters: ["const shop::Pair &", "shop::Pair", "shop::_Item::Kind"],
      },
      { name: "shop::_Item::count", as: "Item_count", buffer: ["sizes"] },
      { name: "shop::_Item::label", as: "Item_label", sret: true },
      { name: "shop::_Item::lightest", as: "Item_lightest" },
      "shop::till::total",
      "shop::till::change",
    ],
  });
  const table = await written(library, "symbols.ts");
  assertEquals(table.slice(table.indexOf("  //")).split("\n").slice(0, -2), [
    "  // shop::_Item::_Item(int grams)",
    '  Item_construct: { name: "_ZN4shop5_ItemC1Ei", parameters: ["u64", "i32"], result: "void" },',
    "  // shop::_Item::~_Item()",
    '  Item_destruct: { name: "_ZN4shop5_ItemD1Ev", parameters: ["u64"], result: "void" },',
    "  // void shop::_Item::move(const shop::Pair &to, shop::Pair by, shop::_Item::Kind kind)",
    "  Item_move: {",
    '    name: "_ZN4shop5_Item4moveERKNS_4PairES1_NS0_4KindE",',
    '    parameters: ["u64", "u64", "u64", "i32"],',
    '    result: "void",',
    "  },",
    "  // size_t shop::_Item::count(const int *sizes, bool all) const",
    '  Item_count: { name: "_ZNK4shop5_Item5countEPKib", parameters: ["u64", "buffer", "u8"], result: "usize" },',
    "  // std::string shop::_Item::label() const (x86-64 only: its result is the first parameter)",
    '  Item_label: { name: "_ZNK4shop5_Item5labelB5cxx11Ev", parameters: ["u64", "u64"], result: "void" },',
    "  // static shop::_Item *shop::_Item::lightest(shop::_Item *items, shop::Colour colour)",
    '  Item_lightest: { name: "_ZN4shop5_Item8lightestEPS0_NS_6ColourE", parameters: ["u64", "u32"], result: "u64" },',
    "  // double shop::till::total(const shop::_Item &item)",
    '  till_total: { name: "_ZN4shop4till5totalERKNS_5_ItemE", parameters: ["u64"], result: "f64" },',
    "  // shop::Pair shop::till::change(shop::Mood mood)",
    '  till_change: { name: "_ZN4shop4till6changeENS_4MoodE", parameters: ["i32"], result: "u64" },',
  ]);
  const methods = (await written(library, "functions.ts")).split("\n").filter((line) => /^ {2}\w/.test(line));
  assertEquals(methods.map((line) => line.trim()), [
    "Item_construct(self: Address, grams: number): void;",
    "Item_destruct(self: Address): void;",
    "Item_move(self: Address, to: Address, by: bigint, kind: number): void;",
    "Item_count(self: Address, sizes: BufferSource | null, all: number): bigint;",
    "Item_label(result: Address, self: Address): void;",
    "Item_lightest(items: Address, colour: number): Address;",
    "till_total(item: Address): number;",
    "till_change(mood: number): bigint;",
  ]);
});

abiTest("a C++ constant loses its namespaces and keeps its class", async () => {
  const library = fixture({
    constants: [
      { type: "shop::Colour", names: ["shop::*"] },
      { type: "int", names: ["shop::Mood::*"] },
      { type: "shop::_Item::Kind", names: ["shop::_Item::PLAIN"] },
      { type: "int", names: ["shop::_Item::*", "!shop::_Item::FANCY", "ROOF"] },
    ],
  });
  const lines = (await written(library, "constants.ts")).split("\n");
  assertEquals(lines.filter((line) => /export|\*\*/.test(line)), [
    "/** `enum constant shop::RED` */",
    "export const RED = 3;",
    "/** `enum constant shop::BLUE` */",
    "export const BLUE = 4;",
    "/** `enum constant shop::Mood::GOOD` */",
    "export const MOOD_GOOD = 1;",
    "/** `enum constant shop::_Item::PLAIN` */",
    "export const ITEM_PLAIN: number = -1;",
    "/** `#define ROOF 9` */",
    "export const ROOF = 9;",
    "/** `enum constant shop::_Item::LIMIT` */",
    "export const ITEM_LIMIT = 7;",
  ]);
});

abiTest("of a C++ class the listed fields get offsets, private ones and those of members too", async () => {
  const library = fixture({
    structs: [{
      type: "shop::_Item",
      fields: [
        "grams",
        ["prices_1", "prices[1]"],
        "colour",
        "kind",
        ["tag_text", "tag.text"],
        ["tag_second", "tag.at.second"],
      ],
    }],
  });
  const text = await written(library, "structs.ts");
  assertEquals(text.match(/^export const.*|^ {2}size.*|.*offset: \d+.*/gm), [
    "export const Item = {",
    "  size: 56,",
    '    grams: { offset: 8, type: "i32" },',
    '    prices_1: { offset: 24, type: "f64" },',
    '    colour: { offset: 32, type: "u32" },',
    '    kind: { offset: 36, type: "i32" },',
    '    tag_text: { offset: 40, type: "u64" },',
    '    tag_second: { offset: 52, type: "i32" },',
  ]);
  assertStringIncludes(text, "/** `shop::_Item.tag.text` */\n  tag_text: Address;");
});

const refusedFunctions: [FunctionEntry, string][] = [
  [{ name: "shop::_Item::move" }, "which: (const Pair &, Pair, Kind), (const Pair &)"],
  [{ name: "shop::_Item::move", parameters: ["int"] }, "the list has to say which"],
  [{ name: "shop::_Item::twice" }, "shop::_Item::twice is inline"],
  [{ name: "shop::half", parameters: ["int"] }, "shop::half is inline"],
  [{ name: "shop::same" }, "no header declares shop::same"],
  [{ name: "shop::_Item::label" }, "returns std::string: the list has to say sret"],
  [{ name: "shop::till::total", sret: true }, "returns double: the list has to say sret"],
  [{ name: "shop::_Item::pack" }, "shop::_Item::pack: no FFI type for shop::Crate"],
  [{ name: "shop::_Item::count", buffer: ["size"] }, "shop::_Item::count has no parameter size"],
];
const refusals: [string, Partial<Library>, string][] = [
  ...refusedFunctions.map(([entry, message]) => (
    [JSON.stringify(entry), { functions: [entry] }, message] satisfies [string, Partial<Library>, string]
  )),
  ["a class without fields", { structs: ["shop::Pair"] }, "the list has to say the fields of a C++ class"],
  [
    "a field that is an object",
    { structs: [{ type: "shop::_Item", fields: ["grams", "tag"] }] },
    "shop::_Item.tag is neither a number nor a pointer",
  ],
  ["a constant that is not there", { constants: [{ type: "int", names: ["shop::GREEN"] }] }, "no constant matches"],
];

for (const [what, parts, message] of refusals) {
  abiTest(`the generator refuses, of C++, ${what}`, async () => {
    const error = await assertRejects(() => readModel(fixture(parts)), Error);
    assertStringIncludes(error.message, message);
  });
}
