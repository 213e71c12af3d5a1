import { DeviceContext } from "../core/graph/device_context.ts";
import { type Reason, reasonOf } from "../core/errors.ts";
import { Execution, type ExecutionContext } from "./execution.ts";

/**
 * The part of an {@link OpenCVContext} that its tensors, targets and operations need: its name, its end of life, and OpenCV's
 * state for each `cl_context`. They import only this part, because the context imports them all.
 */
export abstract class OpenCVBase extends DeviceContext {
  /** The API's name. */
  readonly api = "opencv";
  /** OpenCV's version: `"4.6.0"`. */
  readonly version: string;
  #executions: Execution[] = [];
  readonly #problems = new Map<bigint, Reason>();

  /** Made by `OpenCVContext.open`. Mats have no device, and a UMat's device is that of its OpenCL context. */
  constructor(version: string) {
    super("opencv", { name: `OpenCV ${version}`, id: {} }, []);
    this.version = version;
  }

  /**
   * Makes OpenCV's state for a `cl_context`, if it does not exist and OpenCV takes that context; {@link
   * executionProblem} says why not. For mappers.
   *
   * @param device returns the context and device for OpenCV; called only if they are needed
   */
  tryExecution(clContext: bigint, device: () => ExecutionContext): void {
    if (this.executionIn(clContext) !== undefined || this.resource.state !== "live") return;
    try {
      const made = new Execution(device(), this.resource);
      this.#executions = [...this.#executions.filter(({ live }) => live), made];
      this.#problems.delete(clContext);
    } catch (error) {
      this.#problems.set(clContext, reasonOf(error));
    }
  }

  /** Why OpenCV cannot use a `cl_context`; undefined if it can. For mappers. */
  executionProblem(clContext: bigint): Reason | undefined {
    if (this.resource.state !== "live") return { reason: `${this.name} was disposed.` };
    if (this.executionIn(clContext) !== undefined) return undefined;
    return this.#problems.get(clContext) ?? { reason: "OpenCV was not told of this cl_context." };
  }

  /** OpenCV's state for a `cl_context`, if {@link tryExecution} made it. For mappers. */
  executionIn(clContext: bigint): Execution | undefined {
    return this.#executions.find(({ live, device }) => live && device.handle === clContext);
  }
}
