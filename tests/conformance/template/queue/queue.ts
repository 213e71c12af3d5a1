/**
 * 4. What programs give commands to. The core checks options, waits, lends, submits and records: these check what the API
 * takes, and make the native commands.
 *
 * @module
 */
import { Checks } from "../../../../src/core/checks.ts";
import type { Call, Commands } from "../../../../src/core/contract.ts";
import type { Line, Use } from "../../../../src/core/device/line.ts";
import { type FillValue, patternIn } from "../../../../src/core/device/pattern.ts";
import { DeviceQueue, type Direction, type HostBytes } from "../../../../src/core/device/queue.ts";
import { copyElements, placesOf, runsBetween, runsOf } from "../../../../src/core/layout/runs.ts";
import type { Access } from "../../../../src/core/memory/access.ts";
import type { FakeContext } from "./context.ts";
import { command, type FakeLane } from "./driver.ts";
import { fakeBytes } from "./library.ts";
import { FakeTensor } from "./tensor.ts";

const checks: Checks = new Checks("fake");

/** The commands of a context, in order. */
export class FakeQueue extends DeviceQueue<FakeLane, FakeTensor> {
  override readonly context: FakeContext;
  override readonly line: Line<FakeLane>;
  protected override readonly commands: Commands<FakeLane, FakeTensor>;

  /** Made by the context, once. */
  constructor(context: FakeContext) {
    super();
    this.context = context;
    this.line = context.line;
    this.commands = commandsOf(context);
  }
}

function commandsOf(context: FakeContext): Commands<FakeLane, FakeTensor> {
  return {
    checks,

    useOf(tensor: FakeTensor, access: Access, argument: string): Use {
      checks.assertInstance(tensor, FakeTensor, argument);
      checks.assertHere(tensor.target.context, context, argument);
      return { tensor, access, argument };
    },

    fill({ rawHandle, layout }: FakeTensor, value: FillValue): Call<FakeLane>[] {
      const pattern = patternIn(value, layout.dtype, checks);
      const { length, dimensions } = runsOf([layout]);
      const own = fakeBytes(rawHandle);
      let next = 0;
      const put = (begin: number) => {
        for (let at = begin; at < begin + length; at++) own[at] = pattern[next++ % pattern.length];
      };
      return [command(() => placesOf([layout.byteOffset], dimensions).forEach(([begin]) => put(begin)), [rawHandle])];
    },

    copy(from: FakeTensor, to: FakeTensor): Call<FakeLane>[] {
      runsBetween(from, to, { api: "fake", argument: "to" });
      const [source, target] = [from, to].map(({ rawHandle }) => fakeBytes(rawHandle));
      const copy = () => copyElements(target, to.layout, source, from.layout);
      return [command(copy, [from.rawHandle, to.rawHandle])];
    },

    move(direction: Direction, { rawHandle }: FakeTensor, { bytes }: HostBytes, begin: number): Call<FakeLane>[] {
      const own = fakeBytes(rawHandle).subarray(begin, begin + bytes.length);
      return [command(() => direction === "read" ? bytes.set(own) : own.set(bytes), [rawHandle])];
    },
  };
}
