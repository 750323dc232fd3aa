import type { ActionType } from '../../definitions/records.js';
import type { Action, ActionParts } from './action.js';
import { appendRows, createResource, updateContent, updateRow } from './content.js';
import { condition, delay, search, stop } from './flow.js';
import { httpRequest } from './http-request.js';
import { addTag, comment, createWorkItem, notify, sendMessage } from './people.js';
import { runAgent } from './run-agent.js';

/** Returns the implementation of each type of action. */
export function createActions(parts: ActionParts): Readonly<Record<ActionType, Action>> {
  return {
    create_resource: createResource(parts),
    update_content: updateContent(parts),
    append_rows: appendRows(parts),
    update_row: updateRow(parts),
    add_tag: addTag(parts),
    comment: comment(parts),
    send_message: sendMessage(parts),
    notify: notify(parts),
    create_work_item: createWorkItem(parts),
    run_agent: runAgent(parts),
    http_request: httpRequest(parts),
    search: search(parts),
    condition: condition(),
    delay: delay(parts),
    stop: stop(),
  };
}
