import { fromFileUrl } from "@std/path";
import { measure, type Operation } from "./operation.ts";
import { type Command, open } from "./program.ts";

/** Runs `count` operations, and returns the nanoseconds that they took. */
export type Batch = (count: number) => Promise<number>;

/** One way of doing what a figure is about. */
export interface Way {
  /** Whose way it is: `"C"`, `"samepage"`. */
  readonly name: string;
  /** Bytes that one operation moves between host and device, where the figure is about that. */
  readonly bytesMoved?: number;
  /** Makes it ready. @throws {Missing} where something that it needs is not on this machine. */
  open(): Promise<Batch>;
  /** The same for `deno bench`, where it runs in this process. */
  readonly operation?: () => Operation | Promise<Operation>;
  /** Why this process cannot run it; undefined where it can. */
  readonly lacks?: string | undefined;
}

/** In this process. `make` is called once, before the first batch. */
export function here(name: string, make: () => Operation): Way {
  let made: Operation | undefined;
  const operation = () => made ??= make();
  return {
    name,
    operation,
    open: () => {
      const opened = operation();
      return Promise.resolve((count) => measure(opened, count));
    },
  };
}

/** The same way, in a figure that is about how many bytes are moved. */
export function moving(bytesMoved: number, way: Way): Way {
  return { ...way, bytesMoved };
}

/** An operation of a program that speaks the protocol of c/serve.h. */
export function program(name: string, command: () => Command, operation: string): Way {
  return {
    name,
    open: async () => {
      const opened = await open(command());
      return (count) => opened.run(operation, count);
    },
  };
}

/** Debian's packages are its own python3's, whatever else is on the PATH. */
export const PYTHON = Deno.env.get("PYTHON") ?? "/usr/bin/python3";

/** The path of a file of the bench: `"sides/pyav_side.py"`. */
export function side(name: string): string {
  return fromFileUrl(new URL(`../${name}`, import.meta.url));
}
