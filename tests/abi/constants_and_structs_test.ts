import { assert, assertEquals } from "@std/assert";
import { TARGETS } from "../../ffi/generate/clang.ts";
import { LIBRARIES } from "../../ffi/generate/lists/mod.ts";
import { opencl } from "../../ffi/generate/lists/opencl.ts";
import { cl_buffer_region, CL_INVALID_HOST_PTR } from "../../ffi/opencl/mod.ts";
import { type Claim, claims, structClaims } from "./claims.ts";
import { contradictedHere, contradictedOn } from "./checker.ts";
import { abiTest, needsOf } from "./tools.ts";

for (const library of LIBRARIES) {
  abiTest(`ffi/${library.name}: constants, error codes and structs are what a program prints here`, async () => {
    const all = await claims(library);
    // Names of a list may be patterns, which have to match something each.
    const listed = library.constants.flatMap(({ names }) => names.filter((name) => !name.startsWith("!")));
    assert(all.length >= listed.length + library.structs.length);
    assertEquals(await contradictedHere(library, all), []);
  }, ...needsOf(library));

  for (const target of TARGETS) {
    abiTest(
      `ffi/${library.name}: constants, error codes and structs are those of ${target} (compiled only)`,
      async () => {
        assertEquals(await contradictedOn(target, library, await claims(library)), []);
      },
      ...needsOf(library),
    );
  }
}

/** Runs both checkers over false claims, and expects exactly those to be named. */
async function expectContradicted(planted: readonly Claim[], expressions: readonly string[]): Promise<void> {
  assertEquals(await contradictedHere(opencl, planted), expressions);
  for (const target of TARGETS) assertEquals(await contradictedOn(target, opencl, planted), expressions);
}

abiTest("the checkers find a wrong offset", async () => {
  const { size, align, fields } = cl_buffer_region;
  const wrong = { size, align, fields: { ...fields, size: { offset: 4, type: "usize" as const } } };
  await expectContradicted(structClaims("cl_buffer_region", wrong), ["offsetof(cl_buffer_region, size)"]);
});

abiTest("the checkers find a wrong size, alignment and field type", async () => {
  const { fields } = cl_buffer_region;
  const wrong = { size: 12, align: 4, fields: { ...fields, origin: { offset: 0, type: "u32" as const } } };
  await expectContradicted(structClaims("cl_buffer_region", wrong), [
    "sizeof(cl_buffer_region)",
    "alignof(cl_buffer_region)",
    "sizeof(((cl_buffer_region *) 0)->origin)",
  ]);
});

abiTest("the checkers find a wrong constant", async () => {
  const planted = [
    { expression: "CL_INVALID_VALUE", value: BigInt(CL_INVALID_HOST_PTR) },
    { expression: "CL_INVALID_HOST_PTR", value: BigInt(CL_INVALID_HOST_PTR) },
  ];
  await expectContradicted(planted, ["CL_INVALID_VALUE"]);
});
