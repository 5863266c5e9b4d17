/** A tool as it is offered to the model. */
export interface ToolSpec {
  /** `^[A-Za-z0-9_-]{1,64}$`, unique within a request. */
  readonly name: string;
  /** What the tool does and when to use it, written for the model. */
  readonly description: string;
  /** JSON Schema (object at the top) of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

const toolName = /^[A-Za-z0-9_-]{1,64}$/;

/** True for a tool name that every provider accepts. */
export function isToolName(name: string): boolean {
  return toolName.test(name);
}
