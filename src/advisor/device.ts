import { objectOf, oneOf, optional, requestIn, time, wrong, yesOrNo } from "./check.ts";
import { advisorRow, type AdvisorRowId, type Caution, cautionOf, quoted } from "./rows/mod.ts";

/** The Tegra's own GPU, or the discrete one beside it. */
export type TegraGpu = "igpu" | "dgpu";

/** Microseconds on each GPU. */
export interface TimesOfGpus {
  /** On the Tegra's own GPU. */
  readonly igpu: number;
  /** On the discrete GPU. */
  readonly dgpu: number;
}

/** Work that either GPU of a Tegra could do. Times are in microseconds, as measured. */
export interface DeviceRequest {
  /** Where the data is before the work, and must be after it. */
  readonly data: "soc" | "dgpu";
  /** The kernels' time on each GPU. Without it, the place of the data decides. */
  readonly kernel?: TimesOfGpus;
  /** The time of the transfers between the two DRAMs, both directions together. Only with `kernel`. */
  readonly transfer?: number;
  /** The time on each GPU until the work begins and until its end is noticed; 0 by default. */
  readonly latency?: TimesOfGpus;
  /** True if the program uses unified memory; `false` by default. */
  readonly managed?: boolean;
}

/** Which GPU to use. */
export interface DeviceAdvice {
  /** The GPU. */
  readonly gpu: TegraGpu;
  /** The time of the work on each GPU, in microseconds; missing if the kernels' times are not known. */
  readonly times?: TimesOfGpus;
  /** The rows that decided, in order. */
  readonly rules: readonly AdvisorRowId[];
  /** Why, in our own words, with the sections. */
  readonly why: string;
  /** What the other GPU would cost, or why it cannot be used. */
  readonly otherwise: { readonly gpu: TegraGpu; readonly cost: string; readonly row: AdvisorRowId };
  /** What to look out for. */
  readonly cautions: readonly Caution[];
}

const TIMES = objectOf({ igpu: time, dgpu: time });
const REQUEST = {
  data: oneOf(["soc", "dgpu"]),
  kernel: optional(TIMES, undefined),
  transfer: optional(time, undefined),
  latency: optional(TIMES, undefined),
  managed: optional(yesOrNo, false),
};

/**
 * Whether work belongs on a Tegra's own GPU or on the discrete one beside it (CUDA for Tegra, §3.4). The document names the
 * factors, but no formula. Here they are added up, with the transfer for the GPU that is away from the data. If both take as
 * long, the GPU beside the data is chosen.
 *
 * @throws {ArgumentError} for a wrong request.
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
  const { data, kernel, transfer, latency, managed } = requestIn(request, REQUEST);
  if (kernel === undefined && transfer !== undefined) throw wrong("kernel", "it goes with transfer, and is missing.");
  if (kernel !== undefined && transfer === undefined) throw wrong("transfer", "it goes with kernel, and is missing.");
  const home = data === "soc" ? "igpu" : "dgpu";
  const times = kernel && timesOf(home, kernel, transfer!, latency);
  const gpu = managed ? "igpu" : fasterOf(times) ?? home;

  const rules: AdvisorRowId[] = managed ? ["003/3.6/managed-dgpu"] : [
    ...(kernel === undefined ? [] : ["003/3.4/kernel-time"] as const),
    ...(latency === undefined ? [] : ["003/3.4/latency"] as const),
    ...(gpu === home ? ["003/3.4/locality"] as const : []),
    gpu === "igpu" && home === "igpu" ? "003/3.4/no-transfer" : "003/3.4/transfer-time",
  ];
  const other: TegraGpu = gpu === "igpu" ? "dgpu" : "igpu";
  const cost = gpu === home ? "003/3.4/transfer-time" : "003/3.4/kernel-time";
  const row: AdvisorRowId = managed ? "003/3.6/managed-dgpu" : cost;
  return Object.freeze({
    gpu,
    ...(times === undefined ? {} : { times }),
    rules,
    why: quoted(rules),
    otherwise: { gpu: other, cost: advisorRow(row).says, row },
    cautions: times === undefined && !managed ? [cautionOf("003/3.4/kernel-time")] : [],
  });
}

/** Kernels and latency on each GPU, and the transfer on the one that is away from the data. */
function timesOf(
  home: TegraGpu,
  kernel: TimesOfGpus,
  transfer: number,
  latency: TimesOfGpus = { igpu: 0, dgpu: 0 },
): TimesOfGpus {
  return {
    igpu: kernel.igpu + latency.igpu + (home === "igpu" ? 0 : transfer),
    dgpu: kernel.dgpu + latency.dgpu + (home === "dgpu" ? 0 : transfer),
  };
}

function fasterOf(times: TimesOfGpus | undefined): TegraGpu | undefined {
  if (times === undefined || times.igpu === times.dgpu) return undefined;
  return times.igpu < times.dgpu ? "igpu" : "dgpu";
}
