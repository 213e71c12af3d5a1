import { assert, assertEquals } from "@std/assert";
import { host } from "../../../src/host/mod.ts";
import { type Case, NotHere } from "../case.ts";

/** Laws 2 and 3 among tensors that own the same bytes, which no map has lent from one to the other. */
export const PEERS: readonly Case[] = [
  {
    name: "transfer-takes-a-peers-views-away",
    run({ source, target: { peers } }) {
      if (source.target !== host || peers === undefined) throw new NotHere("nothing attaches to host memory there");
      for (const { name, access, run } of peers.transfers) {
        using tensor = host.allocate(peers.init);
        using attached = peers.attach(tensor);
        const views = [tensor.bytes(), tensor.bytes({ access: "read" })];
        assert(views.every(({ length }) => length > 0));
        run(attached.tensor);
        const left = access === "read" ? tensor.layout.byteLength : 0;
        assertEquals(
          views.map(({ length }) => length),
          [0, left],
          `a writable view and one for reading, after ${name}`,
        );
      }
    },
  },
];
