export { paymentPendingScript } from "./payment-pending.ts";
export { callsScript, echoScript, failingScript, slowScript, turnsScript } from "./plain-scripts.ts";
export type {
  Script,
  ScriptedCall,
  ScriptedTurn,
  ScriptRequest,
  WireMessage,
  WireTool,
  WireToolCall,
} from "./script.ts";
export { type ScriptedModel, type ScriptedModelOptions, startScriptedModel, type TakenRequest } from "./server.ts";
