import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { dirname } from "@std/path";
import { ECONNRESET } from "../../ffi/libc/errors.ts";
import { ArgumentError, host, NativeCallError } from "../../mod.ts";
import { connect, FrameRing, listen } from "../../src/channel/mod.ts";
import { warningsOf } from "../warnings.ts";
import { runModule } from "../process.ts";
import { temporaryPath, withNothingLeft } from "./help.ts";

function test(name: string, run: (path: string) => void | Promise<void>): void {
  Deno.test(`channel: ${name}`, () =>
    withNothingLeft(async () => {
      await using at = await temporaryPath();
      await run(at.path);
    }));
}

const exists = (path: string) => Deno.lstat(path).then(() => true, () => false);

test("the file is its user's alone, and goes with the server", async (path) => {
  const umask = Deno.umask(0);
  using server = listen(path);
  Deno.umask(umask);
  assertEquals((await Deno.lstat(path)).mode! & 0o7777, 0o600);
  assertEquals(server.path, path);
  server[Symbol.dispose]();
  assertEquals(await exists(path), false);
});

test("a file that took the place of the server's stays", async (path) => {
  using server = listen(path);
  await Deno.remove(path);
  await Deno.writeTextFile(path, "another");
  server[Symbol.dispose]();
  assertEquals(await Deno.readTextFile(path), "another");
});

test("a path on which another process listens is refused, and that process goes on", async (path) => {
  using server = listen(path);
  const error = assertThrows(() => listen(path), ArgumentError);
  assertEquals([error.api, error.argument], ["channel", "path"]);
  await assertRejects(() => server.accept({ signal: AbortSignal.timeout(5) }), Error, "timeout");
  using _client = connect(path);
});

test("a socket that a dead process left behind is replaced", async (path) => {
  const { code, stderr } = await runModule(`
    import { listen } from "./src/channel/mod.ts";
    listen(${JSON.stringify(path)});
    Deno.exit(0);
  `);
  assertEquals(code, 0, stderr);
  assert(await exists(path));
  const error = assertThrows(() => connect(path), NativeCallError);
  assertEquals([error.api, error.fn, error.codeName], ["channel", "connect", "ECONNREFUSED"]);
  using _server = listen(path);
  using _client = connect(path);
});

test("a file that is not a socket, and a link, are left alone", async (path) => {
  await Deno.writeTextFile(path, "precious");
  assertThrows(() => listen(path), ArgumentError);
  assertEquals(await Deno.readTextFile(path), "precious");
  await Deno.remove(path);
  await Deno.symlink("/nonexistent", path);
  assertThrows(() => listen(path), ArgumentError);
  assert(await exists(path));
});

test("invalid paths are refused", (path) => {
  for (const wrong of ["", "\0abstract", `${path}${"x".repeat(108)}`, 5 as unknown as string]) {
    const error = assertThrows(() => listen(wrong), ArgumentError);
    assertEquals(error.argument, "path");
    assertThrows(() => connect(wrong), ArgumentError);
  }
  const missing = assertThrows(() => listen(`${path}/no/folder`), NativeCallError);
  assertEquals([missing.fn, missing.codeName], ["bind", "ENOENT"]);
  assertEquals(assertThrows(() => connect(path), NativeCallError).codeName, "ENOENT");
});

test("who is not allowed is turned away by either side", async (path) => {
  const seen: number[] = [];
  const none = { allow: ({ uid }: { uid: number }) => seen.push(uid) < 0 };
  using server = listen(path, none);
  using client = connect(path);
  const warnings = await warningsOf(async () => {
    await assertRejects(() => server.accept({ signal: AbortSignal.timeout(5) }), Error, "timeout");
  });
  assertMatch(warnings.join(), new RegExp(`process ${Deno.pid} of user ${Deno.uid()} connected to`));
  assertEquals(await client.receive(), undefined);
  const error = assertThrows(() => connect(path, none), ArgumentError);
  assertEquals(error.argument, "path");
  assertEquals(seen, [Deno.uid(), Deno.uid()]);
});

test("an `allow` that throws closes the socket", async (path) => {
  const fails = {
    allow: () => {
      throw new RangeError("mine");
    },
  };
  using server = listen(path, fails);
  using _client = connect(path);
  await assertRejects(() => server.accept(), RangeError);
  assertThrows(() => connect(path, fails), RangeError);
});

/** What a program may return by mistake where a boolean is due: all but the last two are truthy. */
const NO_BOOLEANS: Readonly<Record<string, readonly [allow: () => unknown, named: string]>> = {
  "a promise of false": [() => Promise.resolve(false), "a Promise"],
  "a promise that fails": [() => Promise.reject(new Error("mine")), "a Promise"],
  "a number": [() => 1, "a number"],
  "a text": [() => "no", "a string"],
  "an object": [() => ({}), "an Object"],
  "null": [() => null, "null"],
  "nothing": [() => undefined, "undefined"],
};

for (const [what, [allow, named]] of Object.entries(NO_BOOLEANS)) {
  const options = { allow: allow as () => boolean };
  const message = `allow: expected a function that returns true or false at once, and it returned ${named}.`;

  test(`listen() and connect() admit no process where \`allow\` returns ${what}`, async (path) => {
    using server = listen(path, options);
    using client = connect(path);
    const refused = await assertRejects(() => server.accept(), ArgumentError, message);
    assertEquals([refused.argument, /synchronous/.test(refused.hint!)], ["allow", true]);
    assertEquals(await client.receive(), undefined);
    assertThrows(() => connect(path, options), ArgumentError, message);
  });

  test(`FrameRing.create() and open() admit no process where \`allow\` returns ${what}`, async (path) => {
    const frames = [1, 2].map(() => host.allocate({ shape: [8], dtype: "u8", sharable: true }));
    const warnings = await warningsOf(async () => {
      using _ring = FrameRing.create(path, { frames, ...options });
      const refused = await assertRejects(() => FrameRing.open(path, { contexts: [host] }), NativeCallError);
      assertEquals([refused.code, /does not let this process in/.test(refused.hint!)], [ECONNRESET, true]);
      await assertRejects(() => FrameRing.open(path, { contexts: [host], ...options }), ArgumentError, message);
    });
    assertMatch(warnings[0], /cannot take a reader.*allow: expected a function/);
  });
}

/** A user that owns nothing. */
const NOBODY = 65534;
const ROOT = Deno.uid() === 0;

Deno.test({
  name: `channel: another user is turned away by the file, and by the kernel's word${
    ROOT ? "" : " (skipped: needs root)"
  }`,
  ignore: !ROOT,
  fn: () =>
    withNothingLeft(async () => {
      await using at = await temporaryPath();
      using server = listen(at.path);
      await Deno.chmod(dirname(at.path), 0o755);
      assertMatch(await connectAs(NOBODY, at.path), /^Permission denied/);
      await Deno.chmod(at.path, 0o666);
      const warnings = await warningsOf(async () => {
        const ending = new AbortController();
        const accepting = assertRejects(() => server.accept({ signal: ending.signal }), DOMException);
        assertEquals(await connectAs(NOBODY, at.path), "0 bytes");
        ending.abort();
        await accepting;
      });
      assertMatch(warnings.join(), new RegExp(`of user ${NOBODY} connected to .* and was turned away`));
    }),
});

/** Connects as another user, and returns what comes of it. Perl is on every Debian. */
async function connectAs(uid: number, path: string): Promise<string> {
  const program = `
    use Socket;
    socket(S, AF_UNIX, SOCK_SEQPACKET, 0) && connect(S, pack_sockaddr_un($ARGV[0])) or die $!;
    print sysread(S, $_, 1), " bytes";
  `;
  const { stdout, stderr } = await new Deno.Command("perl", { args: ["-e", program, path], uid, gid: uid }).output();
  return [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("");
}
