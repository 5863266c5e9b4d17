import "./style.css";
import { render } from "preact";
import { App } from "./app.tsx";
import { loadSession } from "./session.ts";

const root = document.getElementById("app");
if (root !== null) render(<App />, root);
void loadSession();
