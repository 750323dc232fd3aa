import { performTasks } from '@commonplace/kit/workers';
import { tryReadSkillMd } from '../domain/skill-md.js';

/** Worker thread that parses the `SKILL.md` files of one request at a time. */
performTasks((texts: readonly string[]) => texts.map(tryReadSkillMd));
