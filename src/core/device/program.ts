import { shown } from "../argument.ts";
import { ArgumentError, type ErrorFields, NativeCallError } from "../errors.ts";
import { finalizers } from "../life/finalizers.ts";
import { NativeObject } from "../life/native_object.ts";
import { Resource } from "../life/resource.ts";
import type { Undo } from "../life/undo.ts";
import type { Launch } from "./grid.ts";

/** The error of a program that does not compile. For backends. */
export abstract class CompilerError extends NativeCallError {
  /** What the compiler says; empty where the driver does not report it. */
  readonly log: string;

  /** The message should contain the log's first lines. */
  constructor(message: string, log: string, fields: ErrorFields) {
    super(message, fields);
    this.log = log;
  }
}

/** A loaded program of a device, as programs hold it: its kernels end first. */
export abstract class DeviceProgram<C extends { readonly name: string; readonly resource: Resource }, H>
  extends NativeObject {
  /** Its context. */
  readonly context: C;
  /** Its end of life. */
  readonly resource: Resource;
  readonly #handle: H;

  /** Takes the undo list over. */
  constructor(context: C, api: string, handle: H, undo: Undo) {
    super();
    this.context = context;
    this.#handle = handle;
    this.resource = new Resource({ name: `${api} program (${context.name})`, owners: [context.resource], undo });
    finalizers.register(this, this.resource, this);
  }

  /** The native object. */
  get handle(): H {
    this.resource.assertLive();
    return this.#handle;
  }
}

/** A kernel, as programs hold it. */
export abstract class DeviceKernel<P extends { readonly resource: Resource }, H> extends NativeObject {
  /** Its program. */
  readonly program: P;
  /** Its name. */
  readonly name: string;
  /** Its end of life. */
  readonly resource: Resource;
  /** What errors of its launches say. */
  protected readonly launch: Launch;
  /** The native object, without a check. */
  protected readonly rawHandle: H;

  /** Takes the undo list over. */
  constructor(program: P, launch: Launch, handle: H, undo: Undo = []) {
    super();
    this.program = program;
    this.name = launch.kernel;
    this.launch = launch;
    this.rawHandle = handle;
    this.resource = new Resource({ name: `${launch.api} kernel ${launch.kernel}`, owners: [program.resource], undo });
    finalizers.register(this, this.resource, this);
  }

  /** The native object. */
  get handle(): H {
    this.resource.assertLive();
    return this.rawHandle;
  }
}

/**
 * The error of a kernel that a program does not have: `name: there is no kernel "scal". It has scale.`
 * @param has the names of those that it has
 * @param more what else to do, as a sentence
 */
export function unknownKernel(
  name: string,
  has: readonly string[],
  fields: ErrorFields,
  more: string = "",
): ArgumentError {
  const names = has.length === 0 ? "none" : shown(has.join(", "));
  const hint = `It has ${names}.${more === "" ? "" : ` ${more}`}`;
  return new ArgumentError(`name: there is no kernel "${shown(name)}".`, { ...fields, argument: "name", hint });
}
