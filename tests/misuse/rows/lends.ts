import { AccessError, ArgumentError, DisposedError, host, MapperGraph } from "@samepage/interop";
import { any, fails, open, opening, OwnError, say, settled, sleep } from "../kit.ts";
import { table } from "../row.ts";

const bytes = { shape: [4096], dtype: "u8" } as const;

export default table(import.meta, {
  "a promise that never settles, and a dispose": {
    leaves: true,
    async run() {
      const t = host.allocate(bytes);
      let lent: Uint8Array<ArrayBuffer> | undefined;
      t.lend((view) => {
        lent = view;
        return new Promise(() => {});
      });
      t[Symbol.dispose]();
      lent!.fill(1); // it is held for as long as the promise is open
      fails("view", () => t.view(), DisposedError);
      fails("elements", () => t.elements(), DisposedError);
      const ended = await Promise.race([t[Symbol.asyncDispose]().then(() => "ended"), sleep(50).then(() => "waits")]);
      say(t.resource.state, lent!.length, ended);
    },
    says: ["closing 4096 waits"],
  },
  "a promise that never settles, and the dispose of what was mapped": {
    opencl: true,
    leaves: true,
    run() {
      const cl = open();
      const graph = new MapperGraph([host, cl]);
      const mapped = graph.map(cl.allocate(bytes), host);
      mapped.lend(() => new Promise(() => {}));
      for (const each of [mapped, graph, cl]) each[Symbol.dispose](); // none of them can wait for that
      fails("map", () => cl.allocate(bytes), DisposedError);
      say(mapped.resource.state, cl.resource.state);
    },
    says: ["closing closing"],
  },
  "a promise that rejects": {
    async run() {
      using t = host.allocate(bytes);
      let lent: Uint8Array<ArrayBuffer> | undefined;
      const mine = new Error("the program's own");
      await t.lend((view) => {
        lent = view;
        return Promise.reject(mine);
      }).catch((error) => say(error === mine));
      say(lent!.length, t.view().length);
    },
    says: ["true", "0 4096"],
  },
  "a function that throws before there is a promise": {
    async run() {
      using t = host.allocate(bytes);
      await t.lend(() => {
        throw new Error("the program's own");
      }).catch((error) => say(error.message));
      say(t.view().length);
    },
    says: ["the program's own", "4096"],
  },
  "what is no function": {
    async run() {
      using t = host.allocate(bytes);
      await t.lend(any("view"));
    },
    fails: {
      error: ArgumentError,
      api: "host",
      fn: "lend",
      argument: "use",
      message: /expected a function, got "view"/,
    },
  },
  "a view, a second lend and a slice while a promise holds the bytes": {
    async run() {
      using t = host.allocate(bytes);
      const { promise, resolve } = Promise.withResolvers<void>();
      const lend = t.lend(() => promise);
      fails("view", () => t.view(), AccessError);
      fails("elements", () => t.elements(), AccessError);
      fails("slice", () => t.slice(t.layout), AccessError);
      say(await settled(t.lend(() => {})));
      resolve();
      await lend;
      say(await settled(t.lend(() => {})));
    },
    says: ["AccessError", "ok"],
  },
  "the bytes disposed within the lend": {
    async run() {
      const t = host.allocate(bytes);
      await t.lend(async (view) => {
        t[Symbol.dispose]();
        await sleep(5);
        view.fill(1);
      });
      say(t.resource.state);
    },
    says: ["freed"],
  },
  "a lend behind work that fails": {
    async run() {
      const t = host.allocate(bytes);
      const event = opening();
      t.usedBy(event.fence);
      await event.fail(new OwnError("the work's own"));
      await t.lend((view) => view.fill(1));
      try {
        t[Symbol.dispose]();
      } catch (error) {
        say((error as Error).message);
      }
    },
    says: ["the work's own"],
  },
});
