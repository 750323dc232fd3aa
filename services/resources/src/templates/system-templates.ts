import { derivedId } from '@commonplace/kit/id';
import type { TreeLine } from './records.js';
import { hiring } from './shipped/hiring.js';
import { meetingNotes } from './shipped/meeting-notes.js';
import { productDocs } from './shipped/product-docs.js';
import { project } from './shipped/project.js';
import type { ShippedTemplate } from './shipped/shipped.js';
import { teamHandbook } from './shipped/team-handbook.js';
import { weeklyPlanner } from './shipped/weekly-planner.js';
import { drawItems, readKeyedTree, type TreeItem } from './template-tree.js';

/** A template that comes with the product. */
export interface SystemTemplate {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly icon: string;
  readonly category: string;
  readonly items: readonly TreeItem[];
  readonly tree: readonly TreeLine[];
  readonly resourceCount: number;
}

/** All templates that come with the product. They are part of the code and never stored. */
export const systemTemplates: readonly SystemTemplate[] = [
  teamHandbook,
  project,
  meetingNotes,
  productDocs,
  hiring,
  weeklyPlanner,
].map(systemTemplateOf);

const BY_ID = new Map(systemTemplates.map((template) => [template.id, template]));

export function systemTemplate(id: string): SystemTemplate | undefined {
  return BY_ID.get(id);
}

function systemTemplateOf({ slug, name, description, icon, category, tree }: ShippedTemplate): SystemTemplate {
  const { items, faults } = readKeyedTree(tree);
  if (faults.length > 0) throw new Error(`template ${slug}: ${JSON.stringify(faults)}`);
  const id = derivedId(`template:${slug}`);
  return { id, name, description, icon, category, items, tree: drawItems(items), resourceCount: items.length };
}
