/** What the GPU's tests count fds by, where no GPU is. */
import { assertStringIncludes, assertThrows } from "@std/assert";
import { closeFd } from "../../src/core/native/fd.ts";
import { libc } from "../../src/core/native/libc.ts";
import { cString } from "../../src/core/native/text.ts";
import { assertFdsEnd } from "../gc.ts";

const opened: number[] = [];
const open = () => opened.push(libc().memfd_create(cString("left-open"), 0));
const closeAll = () => opened.splice(0).forEach(closeFd);

Deno.test("assertFdsEnd() takes an fd that is opened once and kept, and one that is closed again", () => {
  let turns = 0;
  assertFdsEnd(() => {
    turns++;
    if (turns === 5) open(); // as a driver does for its first wait that blocks
    open();
    closeFd(opened.pop()!);
  });
  closeAll();
});

Deno.test("assertFdsEnd() fails for an fd that stays open after every turns, and names it", () => {
  for (const every of [1, 10]) {
    let turns = 0;
    const { message } = assertThrows(() =>
      assertFdsEnd(() => {
        if (++turns % every === 0) open();
      }), Error);
    assertStringIncludes(message, "10 turns left more fds open each time; at last: /memfd:left-open");
    closeAll();
  }
});
