import { useSignal } from "@preact/signals";
import { signIn } from "./session.ts";

/** The page for who is not signed in. */
export function SignIn() {
  const key = useSignal("");
  const busy = useSignal(false);
  const problem = useSignal("");
  const submit = async (event: Event) => {
    event.preventDefault();
    busy.value = true;
    problem.value = (await signIn(key.value.trim())) ?? "";
    busy.value = false;
  };
  return (
    <main class="sign-in" data-testid="sign-in">
      <form onSubmit={(event) => void submit(event)}>
        <h1>Drover</h1>
        {/* Tells password managers what the key belongs to. */}
        <input type="text" name="username" autocomplete="username" value="API key" readOnly hidden />
        <label for="key">API key</label>
        <input
          id="key"
          type="password"
          autocomplete="current-password"
          spellcheck={false}
          data-testid="sign-in-key"
          value={key.value}
          onInput={(event) => {
            key.value = event.currentTarget.value;
          }}
        />
        <p class="problem" role="alert" data-testid="sign-in-problem">
          {problem.value}
        </p>
        <button
          type="submit"
          class="primary"
          data-testid="sign-in-submit"
          disabled={busy.value || key.value.trim() === ""}
        >
          {busy.value ? "Signing in" : "Sign in"}
        </button>
        <p class="notice-hint">
          <code>make demo</code> prints where the first one is. It is kept in a cookie that no script can read.
        </p>
      </form>
    </main>
  );
}
