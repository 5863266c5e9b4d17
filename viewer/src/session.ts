import { signal } from "@preact/signals";

/** Who is signed in. */
export interface Session {
  readonly tenantId: string;
  readonly subject: string;
}

/** Undefined until the server said; then who, or that nobody is. */
export const session = signal<Session | "signed-out" | "unreachable" | undefined>(undefined);

/** Asks whose session the cookie is. */
export async function loadSession(): Promise<void> {
  try {
    const response = await fetch("/session", { headers: { accept: "application/json" } });
    if (response.ok) session.value = await response.json();
    else session.value = response.status === 401 ? "signed-out" : "unreachable";
  } catch {
    session.value = "unreachable";
  }
}

/** Opens a session with an API key; gives what is wrong, or nothing. The key is kept nowhere in the page. */
export async function signIn(key: string): Promise<string | undefined> {
  try {
    const response = await fetch("/session", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ key }),
    });
    if (response.ok) {
      await loadSession();
      return undefined;
    }
    if (response.status === 401 || response.status === 403)
      return "This key is not known. Check it, or make a new one.";
    return `The server answered with ${response.status}. Try again in a moment.`;
  } catch {
    return "The server cannot be reached. Try again in a moment.";
  }
}

/** Ends the session here and at the server. */
export async function signOut(): Promise<void> {
  await fetch("/session", { method: "DELETE" }).catch(() => undefined);
  session.value = "signed-out";
}

/** Called when an rpc says that the session has ended. */
export function sessionEnded(): void {
  session.value = "signed-out";
}
