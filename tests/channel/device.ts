/**
 * A device that is made up: its memory is files, and it has a command for each way.
 *
 * @module
 */
import type { Imported, MemoryTarget } from "../../src/core/contract.ts";
import { Port, type WholeMemory } from "../../src/core/device/port.ts";
import type { DeviceId } from "../../src/core/device/device_id.ts";
import type { Context, Target } from "../../src/core/graph/context.ts";
import { Resource } from "../../src/core/life/resource.ts";
import { closeFd } from "../../src/core/native/fd.ts";
import { Tensor, type TensorInit } from "../../src/core/tensors/tensor.ts";
import { command, FakeDriver } from "../unit/fakes.ts";
import * as raw from "./raw.ts";

/** Its tensors. */
export class Made extends Tensor<number> {}

/** The arguments of an import. */
export interface Told {
  readonly offset: number;
  readonly byteLength: number;
  readonly dedicated: boolean;
  readonly whole: WholeMemory | undefined;
}

/** The device. */
export class Device implements Context, MemoryTarget {
  readonly api = "fake";
  readonly kind = "fake";
  readonly name = "a fake device";
  readonly id: DeviceId;
  readonly context = this;
  readonly targets: Target[] = [this];
  readonly resource = new Resource({ name: "a fake device" });
  readonly driver = new FakeDriver();
  readonly line = this.driver.line();
  /** What was given back. */
  readonly freed: string[] = [];
  /** What came. */
  readonly told: Told[] = [];
  /** Set: tensors over what comes cannot be made. */
  broken: Error | undefined;
  readonly ports: MemoryTarget["ports"];

  readonly is = (value: unknown): value is Made => value instanceof Made;

  /**
   * With a UUID, its memory goes out by opaque fds of that device. Where that is `dedicated`, it names its memory type.
   */
  constructor(id: DeviceId = {}, kind = id.uuid === undefined ? "memfd" : "opaque-fd", dedicated = false) {
    this.id = id;
    const offer = kind === "memfd" ? { kind } : { kind, device: id };
    const note = () => command(() => {});
    this.ports = {
      line: this.line,
      exports: [offer],
      imports: [offer],
      allocate: () => ({ handle: 1, release: () => void this.freed.push("allocated") }),
      export: ({ grant: { start, allocation } }, kind, byteLength) => {
        const fd = raw.memfd(allocation.block.byteLength);
        const offset = kind === "memfd" ? 0 : start;
        const whole = dedicated ? { byteLength: allocation.block.byteLength, type: 3 } : undefined;
        return { port: new Port(kind, { fd, offset, byteLength, dedicated, whole }), begin: note };
      },
      import: (port: Port): Imported<number> => {
        const { offset, byteLength, dedicated, whole } = port;
        this.told.push({ offset, byteLength, dedicated, whole });
        closeFd(port.takeFd());
        return { handle: 2, begin: note, end: note, release: () => void this.freed.push("imported") };
      },
      tensor: (init: TensorInit<number>) => {
        if (this.broken !== undefined) throw this.broken;
        return new Made(init);
      },
    };
  }

  [Symbol.dispose](): void {
    this.resource.dispose();
  }
}
