import { assertEquals, assertThrows } from "@std/assert";
import { pciAddress } from "../../src/core/device/device_id.ts";
import { NativeCallError } from "../../src/core/errors.ts";
import { checkOf } from "../../src/core/native/codes.ts";
import { listed, listedHandles } from "../../src/core/native/listed.ts";

const MORE = 5;

const check = checkOf((code: number, fn) => new NativeCallError(`${fn}: ${code}`, { api: "core", fn, code }));

Deno.test("listedHandles() asks again while there are more than a moment ago", () => {
  const lengths = [1, 3];
  const ask = (count: Uint32Array<ArrayBuffer>, into: BigUint64Array<ArrayBuffer> | null) => {
    if (into === null) count[0] = lengths.shift()!;
    else into.forEach((_, i) => into[i] = BigInt(i + 1));
    return into !== null && into.length < 3 ? MORE : 0;
  };
  assertEquals(listedHandles("list", check, ask, MORE), [1n, 2n, 3n]);
});

Deno.test("listedHandles() returns those that the function filled in", () => {
  const ask = (count: Uint32Array<ArrayBuffer>, into: BigUint64Array<ArrayBuffer> | null) => {
    count[0] = into === null ? 2 : 1;
    into?.fill(7n);
    return 0;
  };
  assertEquals(listedHandles("list", check, ask), [7n]);
});

Deno.test("listed() makes no memory where there is nothing", () => {
  const room = () => {
    throw new Error("there is nothing");
  };
  assertEquals(listed("list", check, () => 0, room), { count: 0, into: null });
});

Deno.test("listed() throws what the check of its codes throws", () => {
  assertThrows(() => listed("list", check, () => 1, () => null), NativeCallError, "list: 1");
});

Deno.test("pciAddress() pads its numbers in hexadecimal", () => {
  assertEquals(pciAddress(0, 0xaf, 0, 0), "0000:af:00.0");
});
