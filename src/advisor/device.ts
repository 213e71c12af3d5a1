import type { Names } from "../core/argument.ts";
import { type Caution, cautionOf } from "./caution.ts";
import { fields, oneOf, time, wrong, yesOrNo } from "./check.ts";
import { advisorRow, type AdvisorRowId, quoted } from "./rows/mod.ts";

/** The GPU of the Tegra itself, or the discrete one beside it. */
export type TegraGpu = "igpu" | "dgpu";

/** Microseconds on each GPU. */
export interface TimesOfGpus {
  /** On the Tegra's own. */
  readonly igpu: number;
  /** On the discrete one. */
  readonly dgpu: number;
}

/** Work that either GPU of a Tegra could do. Times are in microseconds, as they were measured. */
export interface DeviceRequest {
  /** Where the data lies before the work, and has to be after it. */
  readonly data: "soc" | "dgpu";
  /** How long the kernels take on each. Where it is not known, where the data lies decides. */
  readonly kernel?: TimesOfGpus;
  /** How long the data takes from one DRAM to the other, both ways together. It goes with `kernel`. */
  readonly transfer?: number;
  /** How long it takes on each until the work begins and its end is noticed; 0 by default. */
  readonly latency?: TimesOfGpus;
  /** Does the program use unified memory? `false` by default. */
  readonly managed?: boolean;
}

const FIELDS: Names<DeviceRequest> = { data: true, kernel: true, transfer: true, latency: true, managed: true };
const GPUS: Names<TimesOfGpus> = { igpu: true, dgpu: true };

/** Which GPU to use. */
export interface DeviceAdvice {
  /** The GPU. */
  readonly gpu: TegraGpu;
  /** What the work takes on each, in microseconds; missing where the kernels' times are not known. */
  readonly times?: TimesOfGpus;
  /** The rows that decided, in order. */
  readonly rules: readonly AdvisorRowId[];
  /** Why, in our own words, with the sections. */
  readonly why: string;
  /** What the other one would cost, or why it cannot be used. */
  readonly otherwise: { readonly gpu: TegraGpu; readonly cost: string; readonly row: AdvisorRowId };
  /** What to look out for. */
  readonly cautions: readonly Caution[];
}

/**
 * Whether work on a Tegra with a discrete GPU beside it belongs on that or on its own (CUDA for Tegra, §3.4). The
 * document names the factors and gives no formula: here they are added up, a transfer on the GPU that the data is away
 * from. Of two that take as long, the one where the data lies is taken.
 *
 * @throws {ArgumentError} where the request is wrong.
 *
 * @example
 * ```ts
 * import { adviseDevice } from "@samepage/interop/advisor";
 *
 * const filter = { data: "soc", kernel: { igpu: 900, dgpu: 150 }, transfer: 1200 } as const;
 * console.log(adviseDevice(filter).gpu); // igpu
 * console.log(adviseDevice({ ...filter, kernel: { igpu: 9000, dgpu: 1500 } }).gpu); // dgpu
 * ```
 */
export function adviseDevice(request: DeviceRequest): DeviceAdvice {
  const given = requestIn(request);
  const times = timesOf(given);
  const gpu = chosen(given, times);
  const rules = rulesOf(given, gpu);
  const other: TegraGpu = gpu === "igpu" ? "dgpu" : "igpu";
  const row = given.managed ? "003/3.6/managed-dgpu" : costOfOther(given, gpu);
  return Object.freeze({
    gpu,
    ...(times === undefined ? {} : { times }),
    rules,
    why: quoted(rules),
    otherwise: { gpu: other, cost: advisorRow(row).says, row },
    cautions: times === undefined && !given.managed ? [cautionOf("003/3.4/kernel-time")] : [],
  });
}

/** A request that was checked. */
interface Given extends Omit<DeviceRequest, "managed"> {
  readonly managed: boolean;
}

/** Each field is read once. */
function requestIn(request: DeviceRequest): Given {
  const { data, kernel, transfer, latency, managed = false } = fields(request, FIELDS, "request");
  if ((kernel === undefined) !== (transfer === undefined)) {
    const [there, missing] = kernel === undefined ? ["transfer", "kernel"] : ["kernel", "transfer"];
    throw wrong(missing, `it goes with ${there}, and is missing.`);
  }
  return {
    data: oneOf(data, ["soc", "dgpu"], "data"),
    ...(kernel === undefined ? {} : { kernel: timesIn(kernel, "kernel"), transfer: time(transfer, "transfer") }),
    ...(latency === undefined ? {} : { latency: timesIn(latency, "latency") }),
    managed: yesOrNo(managed, "managed"),
  };
}

function timesIn(given: TimesOfGpus, argument: string): TimesOfGpus {
  const { igpu, dgpu } = fields(given, GPUS, argument);
  return { igpu: time(igpu, `${argument}.igpu`), dgpu: time(dgpu, `${argument}.dgpu`) };
}

/** What the work takes on each GPU, where the kernels' times are known. */
function timesOf({ data, kernel, transfer = 0, latency = { igpu: 0, dgpu: 0 } }: Given): TimesOfGpus | undefined {
  if (kernel === undefined) return undefined;
  return {
    igpu: kernel.igpu + latency.igpu + (data === "dgpu" ? transfer : 0),
    dgpu: kernel.dgpu + latency.dgpu + (data === "soc" ? transfer : 0),
  };
}

function chosen(given: Given, times: TimesOfGpus | undefined): TegraGpu {
  if (given.managed) return "igpu";
  if (times === undefined || times.igpu === times.dgpu) return homeOf(given);
  return times.igpu < times.dgpu ? "igpu" : "dgpu";
}

/** The GPU whose DRAM has the data. */
function homeOf({ data }: Given): TegraGpu {
  return data === "soc" ? "igpu" : "dgpu";
}

function rulesOf(given: Given, gpu: TegraGpu): AdvisorRowId[] {
  if (given.managed) return ["003/3.6/managed-dgpu"];
  return [
    ...(given.kernel === undefined ? [] : ["003/3.4/kernel-time"] as const),
    ...(given.latency === undefined ? [] : ["003/3.4/latency"] as const),
    ...(gpu === homeOf(given) ? ["003/3.4/locality"] as const : []),
    ...(gpu === "igpu" && given.data === "soc" ? ["003/3.4/no-transfer"] as const : ["003/3.4/transfer-time"] as const),
  ];
}

/** Away from the data there is a transfer; where the data lies, it is the kernels that take longer. */
function costOfOther(given: Given, gpu: TegraGpu): AdvisorRowId {
  return gpu === homeOf(given) ? "003/3.4/transfer-time" : "003/3.4/kernel-time";
}
