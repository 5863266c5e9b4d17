import { type ContextValues, createContextKey } from "@connectrpc/connect";
import { DroverError } from "@drover/kernel";
import type { Principal } from "../application/principal.ts";
import type { Presented } from "./credentials.ts";

/** What a translated request said about its sender. */
export const presentedKey = createContextKey<Presented | undefined>(undefined, {
  description: "presented credentials",
});

/** Who it comes from, once that is known. */
export const principalKey = createContextKey<Principal | undefined>(undefined, { description: "principal" });

/** The principal of a translated call; its gate has put it there. */
export function principalOf(values: ContextValues): Principal {
  const principal = values.get(principalKey);
  if (principal === undefined) throw new DroverError("INTERNAL", "Internal error.");
  return principal;
}
