// Rings whose two sides meet by Deno's TLS.

import { assertEquals, assertRejects } from "@std/assert";
import { MessageError } from "../../src/channel/mod.ts";
import { UcxContext } from "../../src/ucx/mod.ts";
import { warningsOf } from "../warnings.ts";
import { certifiedTest } from "./certificate.ts";
import { create, INFO, LARGE, open, publish, SECRET, until, unusedPort, valueOf } from "./ring_help.ts";

function tls(folder: string) {
  const text = (file: string) => Deno.readTextFileSync(`${folder}/${file}`);
  const place = (port: string) => ({ hostname: "localhost", port: Number(port) });
  return {
    listen: (port: string) => Deno.listenTls({ ...place(port), cert: text("ring.crt"), key: text("ring.key") }),
    connect: (port: string) => Deno.connectTls({ ...place(port), caCerts: [text("ring.crt")] }),
  };
}

for (const [size, info] of Object.entries({ small: INFO, large: LARGE })) {
  certifiedTest(`ring: ${size} frames come to who met the writer by TLS, and the end does`, async (folder) => {
    await using ucx = UcxContext.open({ transports: ["tcp"] });
    const rings = ucx.rings(tls(folder));
    const port = unusedPort();
    await using ring = create(rings, port, 2, "wait", info);
    await using reader = await open(rings, port);
    await ring.joined();
    for (let i = 1; i <= 5; i++) {
      await publish(ring, i);
      using frame = (await reader.next())!;
      assertEquals(valueOf(frame), i);
    }
    await ring.end();
    assertEquals(await reader.next(), undefined);
  });
}

certifiedTest(
  "rings() over TLS refuses readers without the secret, and writers with another certificate",
  async (folder) => {
    await using ucx = UcxContext.open({ transports: ["tcp"] });
    const port = unusedPort();
    const { listen, connect } = tls(folder);
    await using ring = create(ucx.rings({ secret: SECRET, listen }), port, 2);
    const stranger = ucx.rings({ secret: new Uint8Array(32), connect });
    const suspicious = ucx.rings({
      secret: SECRET,
      connect: (port) => Deno.connectTls({ hostname: "localhost", port: Number(port) }),
    });
    const warnings = await warningsOf(async () => {
      await assertRejects(() => open(stranger, port), MessageError, "the writer turned this reader away");
      await assertRejects(() => open(suspicious, port), MessageError, "UnknownIssuer. Do both sides use TLS");
      await using _reader = await open(ucx.rings({ secret: SECRET, connect }), port);
      await until(() => ring.readers === 1, "the third is let in");
    });
    assertEquals(warnings.length, 2);
  },
);

certifiedTest("rings() over TLS refuse a writer that does not use it", async (folder) => {
  await using ucx = UcxContext.open({ transports: ["tcp"] });
  const port = unusedPort();
  const { connect } = tls(folder);
  await warningsOf(async () => {
    await using _ring = create(ucx.rings({ secret: SECRET }), port, 2);
    await assertRejects(
      () => open(ucx.rings({ secret: SECRET, connect }), port),
      MessageError,
      "Do both sides use TLS",
    );
  });
});

certifiedTest("ring: over TLS, a connection that ends without a word is the end of the other side", async (folder) => {
  await using ucx = UcxContext.open({ transports: ["tcp"] });
  const rings = ucx.rings(tls(folder));
  const port = unusedPort();
  await using ring = create(rings, port, 2);
  using between = Deno.listen({ hostname: "localhost", port: 0 });
  const ends: Deno.Conn[] = [];
  const passing = (async () => {
    const [near, far] = [await between.accept(), await Deno.connect({ hostname: "localhost", port: Number(port) })];
    ends.push(near, far);
    await Promise.allSettled([near.readable.pipeTo(far.writable), far.readable.pipeTo(near.writable)]);
  })();
  const warnings = await warningsOf(async () => {
    await using reader = await open(rings, `${(between.addr as Deno.NetAddr).port}`);
    await ring.joined();
    await publish(ring, 1);
    using frame = (await reader.next())!;
    const end = reader.next();
    for (const one of ends) await one.closeWrite(); // as the kernel does for who was killed
    assertEquals([await end, valueOf(frame)], [undefined, 1]);
    await until(() => ring.readers === 0, "no reader");
  });
  await passing;
  assertEquals(warnings, []);
});
