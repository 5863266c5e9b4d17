import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type Bus, patterns, subjects } from "@drover/bus";
import { ConfigChangedSchema } from "@drover/proto/event/v1/bus";
import type { ToolServerSignals } from "../application/tool-source-ports.ts";

const what = "toolservers";

/** Signals of changed tool servers over the bus; what cannot be sent or read is told to `onFault`: polling makes it good. */
export function createToolServerSignals(bus: Bus, onFault: (fault: unknown, what: string) => void): ToolServerSignals {
  return {
    changed(tenantId) {
      try {
        bus.publish(subjects.config(what), toBinary(ConfigChangedSchema, create(ConfigChangedSchema, { tenantId })));
      } catch (fault) {
        onFault(fault, "a signal could not be sent");
      }
    },
    onChanged: (listener) =>
      bus.subscribe(patterns.config(what), ({ data }) => listener(fromBinary(ConfigChangedSchema, data).tenantId)),
  };
}
