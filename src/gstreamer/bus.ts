import { type Address, NULL } from "../../ffi/address.ts";
import { GST_MESSAGE_EOS, GST_MESSAGE_ERROR, GST_MESSAGE_WARNING } from "../../ffi/gstreamer/constants.ts";
import { type ErrorFields, messageOf, NativeCallError, warn } from "../core/errors.ts";
import { owned } from "../core/life/ledger.ts";
import type { Undo } from "../core/life/undo.ts";
import { gst, made, saidBy, takenText } from "./library.ts";
import { structs } from "./objects.ts";

/** What an element of a pipeline has reported: an error, after which the pipeline does not go on, or a warning. */
export class PipelineError extends NativeCallError {
  /** The element's name: `"filesrc0"`. */
  readonly element: string;
  /** What GStreamer's developers wrote for it: the place in the source, and often the reason. */
  readonly debug: string | undefined;

  /** `element` is the name of the one that has reported it. */
  constructor(message: string, element: string, debug: string | undefined, fields: ErrorFields) {
    super(message, fields);
    [this.element, this.debug] = [element, debug];
  }
}

/** The other messages are thrown away by GStreamer itself, as they are passed by. */
const WANTED = GST_MESSAGE_ERROR | GST_MESSAGE_WARNING | GST_MESSAGE_EOS;

/** How often it is read where nothing else does, in milliseconds: nothing bounds the messages of a bus. */
const EVERY_MS = 20;

/** What the elements of a pipeline report. */
export class Bus {
  /** True once all sinks have reached the end of the stream. */
  isEnded = false;
  /** What the pipeline has failed with. */
  failure: unknown;
  readonly #bus: Address;
  readonly #onWarning: (warning: PipelineError) => void;
  #isHeard = false;
  #waits = 0;

  constructor(pipeline: Address, onWarning: ((warning: PipelineError) => void) | undefined, undo: Undo) {
    this.#onWarning = onWarning ?? ((warning) => warn(messageOf(warning)));
    this.#bus = made(gst().gst_element_get_bus(pipeline), "gst_element_get_bus");
    owned("gstreamer.GstBus", undo, () => gst().gst_object_unref(this.#bus));
    const timer = setInterval(() => this.#waits > 0 || this.read(), EVERY_MS);
    Deno.unrefTimer(timer);
    undo.push(() => clearInterval(timer));
  }

  /** Reads all that has come. */
  read(): void {
    for (;;) {
      const message = gst().gst_bus_timed_pop_filtered(this.#bus, 0n, WANTED);
      if (message === NULL) return;
      this.#take(message);
    }
  }

  /** Waits for something to come, on another thread, and reads it. */
  async wait(nanoseconds: bigint): Promise<void> {
    this.#waits++;
    const message = await gst().gst_bus_timed_pop_filteredAsync(this.#bus, nanoseconds, WANTED);
    this.#waits--;
    if (message !== NULL) this.#take(message);
  }

  /** @throws what the pipeline has failed with. */
  assertSound(): void {
    this.read();
    if (this.failure === undefined) return;
    this.#isHeard = true;
    throw this.failure;
  }

  /** The pipeline is stopped: on the way there, GStreamer throws away what is on the bus. @param why has the program stop it */
  reset(why?: unknown): void {
    this.read();
    if (this.failure !== undefined && !this.#isHeard) warn(messageOf(this.failure));
    [this.isEnded, this.failure, this.#isHeard] = [false, why, true];
  }

  #fail(why: unknown): void {
    if (this.failure === undefined) [this.failure, this.#isHeard] = [why, false];
  }

  #take(message: Address): void {
    const { type, src } = structs.GstMessage.copyOf(message);
    try {
      if (type === GST_MESSAGE_EOS) this.isEnded = true;
      else if (type === GST_MESSAGE_WARNING) {
        this.#onWarning(errorIn(message, src as Address, "gst_message_parse_warning"));
      } else this.#fail(errorIn(message, src as Address, "gst_message_parse_error"));
    } catch (error) { // thrown by the program's own warning(): the pipeline has to end all the same
      this.#fail(error);
    } finally {
      gst().gst_mini_object_unref(message);
    }
  }
}

/** What to do, by the reason that a source gives for its end: GStreamer's sentence is "Internal data stream error". */
const HINTS: Readonly<Record<string, string | undefined>> = {
  "not-negotiated":
    "Elements that are linked do not agree on a format: put videoconvert, videoscale or audioconvert between.",
  "not-linked": "Frames go nowhere: is a ! missing, or a sink that takes what comes?",
};

function errorIn(
  message: Address,
  source: Address,
  parse: "gst_message_parse_error" | "gst_message_parse_warning",
): PipelineError {
  const [error, debug] = [new BigUint64Array(1), new BigUint64Array(1)];
  gst()[parse](message, error, debug);
  const element = takenText(gst().gst_object_get_name(source)) ?? "an element without a name";
  const { said, ...about } = saidBy(error[0] as Address);
  const what = parse === "gst_message_parse_error" ? "failed with" : "warns of";
  const debugText = takenText(debug[0] as Address);
  const hint = HINTS[debugText?.match(/reason ([a-z-]+) \(/)?.[1] ?? ""];
  const fields = { api: "gstreamer", ...about, ...hint !== undefined && { hint } };
  return new PipelineError(`${element} ${what} ${said}.`, element, debugText, fields);
}
