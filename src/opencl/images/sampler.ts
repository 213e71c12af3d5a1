import * as cl from "../../../ffi/opencl/constants.ts";
import type { ClSampler } from "../../../ffi/opencl/handles.ts";
import { type Names, optionsIn } from "../../core/argument.ts";
import { finalizers } from "../../core/life/finalizers.ts";
import { counted } from "../../core/life/ledger.ts";
import { NativeObject } from "../../core/life/native_object.ts";
import { Resource } from "../../core/life/resource.ts";
import { checks } from "../check.ts";
import type { BaseContext } from "../base_context.ts";
import { check, errcode, made } from "../errors.ts";
import { opencl } from "../library.ts";

/** What a sampler reads outside the image: CL_ADDRESS_… in lower case. `"none"` is undefined there. */
export type Addressing = "none" | "clamp-to-edge" | "clamp" | "repeat" | "mirrored-repeat";

/** What a sampler reads between pixels: CL_FILTER_… in lower case. */
export type Filter = "nearest" | "linear";

const ADDRESSING: { readonly [A in Addressing]: number } = {
  "none": cl.CL_ADDRESS_NONE,
  "clamp-to-edge": cl.CL_ADDRESS_CLAMP_TO_EDGE,
  "clamp": cl.CL_ADDRESS_CLAMP,
  "repeat": cl.CL_ADDRESS_REPEAT,
  "mirrored-repeat": cl.CL_ADDRESS_MIRRORED_REPEAT,
};

const FILTERS: { readonly [F in Filter]: number } = {
  nearest: cl.CL_FILTER_NEAREST,
  linear: cl.CL_FILTER_LINEAR,
};

/** These take only normalized coordinates (clCreateSampler). */
const NORMALIZED_ONLY: readonly Addressing[] = ["repeat", "mirrored-repeat"];

/** How a kernel reads an image. */
export interface SamplerInit {
  /** Coordinates from 0 to 1 instead of pixels; false by default. */
  readonly normalized?: boolean;
  /** What is read outside the image; `"clamp-to-edge"` by default. */
  readonly addressing?: Addressing;
  /** What is read between pixels; `"nearest"` by default. */
  readonly filter?: Filter;
}

const NAMES: Names<SamplerInit> = { normalized: true, addressing: true, filter: true };

/** A sampler, as kernels use it. */
export class ImageSampler extends NativeObject {
  /** Its context. */
  readonly context: BaseContext;
  /** Its end of life. */
  readonly resource: Resource;
  /** Its settings, with defaults. */
  readonly settings: Required<SamplerInit>;
  readonly #handle: ClSampler;

  /** Made by `cl.sampler()`. @throws {ArgumentError} for an unknown setting, or two that exclude each other. */
  constructor(context: BaseContext, init: SamplerInit = {}) {
    super();
    this.context = context;
    this.settings = settingsOf(init);
    context.resource.assertLive();
    const { normalized, addressing, filter } = this.settings;
    const handle = this.#handle = made(
      opencl().clCreateSampler(
        context.handle,
        normalized ? cl.CL_TRUE : cl.CL_FALSE,
        ADDRESSING[addressing],
        FILTERS[filter],
        errcode,
      ),
      "clCreateSampler",
    );
    this.resource = new Resource({
      name: `opencl sampler (${context.name})`,
      owners: [context.resource],
      undo: [counted("opencl.cl_sampler", () => check(opencl().clReleaseSampler(handle), "clReleaseSampler"))],
    });
    finalizers.register(this, this.resource, this);
  }

  /** True for a sampler, and not for a proxy of one. */
  static isSampler(value: unknown): value is ImageSampler {
    return typeof value === "object" && value !== null && #handle in value;
  }

  /** The `cl_sampler`. */
  get handle(): ClSampler {
    this.resource.assertLive();
    return this.#handle;
  }
}

function settingsOf(init: SamplerInit): Required<SamplerInit> {
  const { normalized = false, addressing = "clamp-to-edge", filter = "nearest" } = optionsIn(init, NAMES, "init");
  checks.assertBoolean(normalized, "normalized");
  checks.nameIn(addressing, ADDRESSING, "addressing");
  checks.nameIn(filter, FILTERS, "filter");
  if (!normalized && NORMALIZED_ONLY.includes(addressing)) {
    throw checks.wrong("addressing", `"${addressing}" takes normalized coordinates.`, "Pass normalized: true.");
  }
  return Object.freeze({ normalized, addressing, filter });
}
