/** A group of built-in tools, by which an agent is given them. */
export type ToolGroup =
  | 'search'
  | 'read'
  | 'write'
  | 'create'
  | 'comment'
  | 'table'
  | 'file'
  | 'web_fetch'
  | 'work_item'
  | 'memory'
  | 'im';
