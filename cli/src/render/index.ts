export { createTaskRenderer, type RendererOptions, type TaskRenderer } from "./task-renderer.ts";
