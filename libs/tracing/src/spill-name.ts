/**
 * What a person calls a spilled text, from its pointer: `spill 7f3a/8c1e`. It is made of the ends of
 * the two ids, for their beginnings are times. A text that is no pointer is returned as it is.
 */
export function spillName(pointer: string): string {
  const [, conversation, call] = /^spill:\/\/([\w-]+)\/([\w-]+)$/.exec(pointer) ?? [];
  if (conversation === undefined || call === undefined) return pointer;
  return `spill ${conversation.slice(-4)}/${call.slice(-4)}`;
}
