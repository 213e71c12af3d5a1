/** Ports between processes: handles of any API that are fds. */
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { ArgumentError, Port } from "../../mod.ts";
import { MessageError } from "../../src/channel/mod.ts";
import { connectionOf } from "../../src/channel/peer.ts";
import { encoded, KINDS } from "../../src/channel/message.ts";
import { statusOf } from "../../src/core/native/fd.ts";
import { openFds } from "../gc.ts";
import { withEnds } from "./help.ts";

/** An fd of its own: that of an open file. */
async function withFd(use: (fd: number) => Promise<void>): Promise<void> {
  using _file = await Deno.open("/dev/null");
  const names = [...Deno.readDirSync("/proc/self/fd")].map(({ name }) => name);
  const found = names.find((name) => linkOf(name) === "/dev/null" && Number(name) > 2);
  await use(Number(found));
}

function linkOf(name: string): string | undefined {
  try {
    return Deno.readLinkSync(`/proc/self/fd/${name}`);
  } catch {
    return undefined; // it was that of the folder
  }
}

Deno.test("channel: a port arrives with what it says, and an fd of its own", () =>
  withEnds(({ one, other }) =>
    withFd(async (fd) => {
      // The caller closes the fd, so the port does not own it.
      const port = new Port("egl-stream", { fd, value: 2n ** 63n, offset: 4, byteLength: 5 });
      await one.sendPort(port);
      assertEquals(port.takeFd(), fd);
      using got = (await other.receivePort("egl-stream"))!;
      assertEquals([got.kind, got.value, got.offset, got.byteLength], ["egl-stream", 2n ** 63n, 4, 5]);
      assertEquals([got.fd === fd, statusOf(got.fd).identity], [false, statusOf(fd).identity]);
    })
  ));

Deno.test("channel: ports and ends come in order", () =>
  withEnds(({ one, other }) =>
    withFd(async (fd) => {
      for (const value of [1n, 2n]) {
        const port = new Port("egl-stream", { fd, value });
        await one.sendPort(port);
        port.takeFd();
      }
      one[Symbol.dispose]();
      for (const value of [1n, 2n]) {
        using got = await other.receivePort("egl-stream");
        assertEquals(got?.value, value);
      }
      assertEquals(await other.receivePort("egl-stream"), undefined);
    })
  ));

const RIGHT = { kind: "egl-stream", value: "0", offset: 0, byteLength: 0 };

/** What is wrong about a port, and the part that is named. */
const WRONG: Readonly<Record<string, readonly [body: unknown, fds: number, argument: RegExp]>> = {
  "another kind": [{ ...RIGHT, kind: "memfd" }, 1, /^kind/],
  "a kind that is too long": [{ ...RIGHT, kind: "x".repeat(65) }, 1, /^kind/],
  "a kind that is a number": [{ ...RIGHT, kind: 5 }, 1, /^kind/],
  "no fd": [RIGHT, 0, /^fds/],
  "two fds": [RIGHT, 2, /^fds/],
  "a value beyond 64 bits": [{ ...RIGHT, value: `${2n ** 64n}` }, 1, /^value/],
  "a value below 0": [{ ...RIGHT, value: "-1" }, 1, /^value/],
  "an offset below 0": [{ ...RIGHT, offset: -1 }, 1, /^offset/],
  "no length": [{ kind: "egl-stream", value: "0", offset: 0 }, 1, /byteLength/],
  "a field too many": [{ ...RIGHT, extra: 1 }, 1, /^body/],
  "a body that is a list": [[RIGHT], 1, /^body/],
};

for (const [what, [body, count, argument]] of Object.entries(WRONG)) {
  Deno.test(`channel: a port with ${what} closes the connection, and its fds`, () =>
    withEnds(({ one, other }) =>
      withFd(async (fd) => {
        const before = openFds();
        await connectionOf(one).send(encoded(KINDS.port, count, body), Array<number>(count).fill(fd));
        const { argument: named } = await assertRejects(() => other.receivePort("egl-stream"), MessageError);
        assertEquals([argument.test(named!), openFds() < before], [true, true], named);
      })
    ));
}

/** What a program may say of a port that no message can hold, and what the error says. */
const UNSAYABLE: Readonly<Record<string, readonly [init: object, kind: string, message: RegExp]>> = {
  "a length that is not a number": [
    { byteLength: NaN },
    "egl-stream",
    /byteLength: expected a whole number .*, got NaN/,
  ],
  "a length without end": [{ byteLength: Infinity }, "egl-stream", /byteLength: .* got Infinity/],
  "a length below 0": [{ byteLength: -1 }, "egl-stream", /byteLength: .* got -1/],
  "an offset of a half": [{ offset: 0.5 }, "egl-stream", /offset: .* got 0.5/],
  "an offset beyond 2^53": [{ offset: 2 ** 53 }, "egl-stream", /offset: /],
  "an offset that is a text": [{ offset: "0" }, "egl-stream", /offset: .* got "0"/],
  "a value beyond 64 bits": [{ value: 2n ** 64n }, "egl-stream", /value: expected an unsigned number of 64 bits/],
  "a value below 0": [{ value: -1n }, "egl-stream", /value: /],
  "a value that is a fraction": [{ value: 1.5 }, "egl-stream", /value: /],
  "a kind of 65 characters": [{}, "x".repeat(65), /kind: expected a string of at most 64 characters/],
  "a kind with half of a character": [{}, "\ud800", /kind: expected text/],
  "a kind that is a number": [{}, 5 as never, /kind: .* got 5/],
  "an fd that is not a number": [{ fd: NaN }, "egl-stream", /port\.fd: expected an fd, got NaN/],
  "an fd below 0": [{ fd: -2 }, "egl-stream", /port\.fd: expected an fd, got -2/],
  "an fd that is a text": [{ fd: "1" }, "egl-stream", /port\.fd: expected an fd, got "1"/],
};

for (const [what, [init, kind, message]] of Object.entries(UNSAYABLE)) {
  Deno.test(`channel: sendPort() refuses ${what}, and sends nothing`, () =>
    withEnds(({ one, other }) =>
      withFd(async (fd) => {
        const port = new Port(kind, { fd, ...init });
        const error = await assertRejects(() => one.sendPort(port), ArgumentError);
        assertMatch(error.message, message);
        port.takeFd();
        const right = new Port("egl-stream", { fd });
        await one.sendPort(right);
        right.takeFd();
        using _got = (await other.receivePort("egl-stream"))!;
        assertEquals([one.resource.isLive, other.resource.isLive], [true, true]);
      })
    ));
}
