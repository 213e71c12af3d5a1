import { environmentInWords } from "../../core/native/library.ts";
import { OpenCLContext } from "../../opencl/context.ts";
import { core } from "../../opencv/library.ts";
import { assertOpenCL } from "../../opencv/execution.ts";
import { withFreshState } from "../../opencv/thread_state.ts";
import type { Examination, Node } from "../api.ts";
import { attempt, type Fact, type Finding, type Trait } from "../report.ts";

const DEVICE = "OPENCV_OPENCL_DEVICE";

const ASKED = "cv::ocl::Device::getDefault";

export interface OwnDevice {
  readonly facts: readonly Fact[];
  readonly traits: readonly Trait[];
}

/**
 * OpenCV's own OpenCL device, if it has one: that of `cv.openCLContext`. A UMat of samepage is on its buffer's device.
 *
 * OpenCV chooses once per process, at the first query, as it would at its first UMat. So it is queried only if proofs may run.
 * The state of this thread does not change.
 */
export function ownDeviceOf({ proofs }: Examination, before: readonly Node[], findings: Finding[]): OwnDevice {
  if (!attempt(findings, hasOpenCL)) {
    return ownDevice("none: it has no OpenCL here");
  }
  if (!proofs) return ownDevice("its own device was not asked for (--no-proof)");
  const problems: Finding[] = [];
  const answer = attempt(problems, () => withFreshState(defaultDevice));
  if (answer === undefined) return ownDevice(`could not be asked: ${problems[0].what}`);
  if (answer.device === undefined) return ownDevice(`no device of its own: ${whyNone()}`, "none");
  const { device } = answer;
  const known = before.find(({ target }) => target instanceof OpenCLContext && target.device.handle === device)?.device;
  return known === undefined
    ? ownDevice("a device of its own, not one of those above", `0x${device.toString(16)}`)
    : ownDevice(`${known} is its own device, of cv.openCLContext`, known);
}

function ownDevice(text: string, value?: string): OwnDevice {
  return {
    facts: value === undefined ? [] : [{ name: ASKED, value }],
    traits: [{ label: "OpenCL", text }],
  };
}

function hasOpenCL(): boolean {
  assertOpenCL();
  return true;
}

function defaultDevice(): { readonly device: bigint | undefined } {
  const context = core().Context_getDefault(1);
  const chosen = core().Context_ptr(context) !== 0n && core().Context_ndevices(context) > 0n;
  return { device: chosen ? core().Device_ptr(core().Context_device(context, 0n)) : undefined };
}

function whyNone(): string {
  const set = environmentInWords(DEVICE);
  const unset = `unless ${DEVICE} says otherwise it takes a GPU`;
  const why = set === "disabled" ? `${DEVICE}=${set} says so` : `${DEVICE}=${set} fits no device that is here`;
  return `${set === undefined ? unset : why}. ${DEVICE}=:CPU: makes it take a CPU. UMats over buffers do without.`;
}
