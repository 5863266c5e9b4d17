export { createTaskRenderer, type TaskRenderer, type TaskRendererOptions } from "./task-renderer.ts";
