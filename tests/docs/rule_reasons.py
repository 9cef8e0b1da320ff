"""What excludes other explanations of what a rule sees, and how sure that makes it: a table of analysis.md."""

from __future__ import annotations

REASONS: dict[str, tuple[str, str]] = {
    "R01": (
        "One member alone was long behind all others; who was dead by then is left to R03 and R05.",
        "Certain with the start of each wait and commits that cover it, else likely.",
    ),
    "R02": (
        "A reason that the client gave; or nothing was committed for its partitions for its rebalance timeout"
        " while others committed, and it came back.",
        "Likely without a reason.",
    ),
    "R03": (
        "An expiry that a line tells; sessions lost with a coordinator, in a deploy, or with other groups are"
        " left out.",
        "Certain from a line, else likely.",
    ),
    "R04": (
        "Pods' names with another hash, or a reason given by each client; clients that come and go again and "
        "again are no deploy, nor is a group that was empty in between.",
        "Likely where only the turnover shows it.",
    ),
    "R05": (
        "At least half of a client's lives were ended by the coordinator; removals by a barrier without time "
        "don't count.",
        "As sure as the least sure of its deaths.",
    ),
    "R06": (
        "All joins and leaves were orderly, under names that did not come back.",
        "Likely.",
    ),
    "R07": (
        "Members and subscriptions stayed, partitions did not.",
        "Certain where records or lines say so.",
    ),
    "R08": (
        "Members stayed, subscriptions did not.",
        "Certain.",
    ),
    "R09": (
        "Subscriptions that share nothing, in several generations.",
        "Certain.",
    ),
    "R10": (
        "Few partitions had to move, and all were given up.",
        "Likely.",
    ),
    "R11": (
        "Same members, a partition found its owner in the second round.",
        "As sure as the rounds' causes.",
    ),
    "R12": (
        "A static member's partitions alone were silent; or its record says that it left for a while.",
        "Certain in consumer groups, else likely.",
    ),
    "R13": (
        "Member ids changed under one instance id, or a request was fenced.",
        "Certain with that line.",
    ),
    "R14": (
        "The time from the barrier to the assignment; or no assignment before the silent member was removed.",
        "Certain where one member was removed; why it hung is only possible.",
    ),
    "R15": (
        "The same client was last in half of the rebalances.",
        "Certain if measured, else likely.",
    ),
    "R16": (
        "The leader epoch of the offsets partition; a group that began after it is left out.",
        "Certain.",
    ),
    "R17": (
        "All members came together, and the group was new.",
        "Certain if every arrival is known.",
    ),
    "R18": (
        "Members and partitions of a generation.",
        "Certain.",
    ),
    "R19": (
        "The hot partition's log grows three times as fast as the others'; a slow member is R45.",
        "Certain; that it is a key is likely.",
    ),
    "R20": (
        "The owner's other partitions, or other members, went on. Four causes look alike, and none is named.",
        "Certain with log ends, else possible; the cause always possible.",
    ),
    "R21": (
        "Committed offsets that went back; or members that commit in batches and committed nothing in several"
        " rebalances. What a topic made again does is left out.",
        "Certain for what went back, else likely.",
    ),
    "R22": (
        "The coordinator's own refusals.",
        "Certain.",
    ),
    "R23": (
        "Records of who had to give up what, and who waited for it.",
        "Certain.",
    ),
    "R24": (
        "Records of the conversion.",
        "Certain.",
    ),
    "R25": (
        "Generations and their members, with no hole between.",
        "Certain.",
    ),
    "R26": (
        "Times of rebalances; a rule that explains half of them is named.",
        "Certain with their starts, else likely.",
    ),
    "R27": (
        "Tombstones; a deleted topic, group or offset is told from an expiry by who was there.",
        "Likely.",
    ),
    "R28": (
        "Settings in members' records.",
        "Certain.",
    ),
    "R29": (
        "How the last members went, where that is known.",
        "Possible where a stop and a death look alike.",
    ),
    "R30": (
        "Two owners ended while the committed offset stayed. Owners that left at their poll timeout are R46.",
        "Likely; possible where several partitions stood, or no line tells how they ended.",
    ),
    "R31": (
        "Subscriptions that share something, for a minute.",
        "Certain.",
    ),
    "R32": (
        "Others committed often in that time.",
        "Likely with log ends, else possible.",
    ),
    "R33": (
        "Offsets jump back, and soon forth again, at least four times.",
        "Certain without members, else likely.",
    ),
    "R34": (
        "The refusal itself.",
        "Certain.",
    ),
    "R35": (
        "Four fifths of the groups that commit regularly paused at once.",
        "Likely.",
    ),
    "R36": (
        "Five members of three groups within seconds.",
        "Likely; what they have in common is for a person to find.",
    ),
    "R37": (
        "Members were there, no rebalance, records waited long by samples. An open transaction: the last stable "
        "offset stood while the log grew. None: it moved on.",
        "Certain with log ends, else information; causes at most likely.",
    ),
    "R38": (
        "The log began behind the committed offset at a sample; whoever deletes only what was read is left out.",
        "Certain.",
    ),
    "R39": (
        "The topic had owners and the partition had none, and its log grew.",
        "Certain; that records were skipped is likely, if nobody could have read them so fast.",
    ),
    "R40": (
        "Leaves one by one, nobody before the group was empty, then another assignor.",
        "Certain that it shrank so, likely why; from a text log alone likely and possible.",
    ),
    "R41": (
        "The coordinator's own words.",
        "Certain.",
    ),
    "R42": (
        "Removals at a barrier that was shorter than a heartbeat, or short for several clients.",
        "Certain with the rebalance timeout, else likely.",
    ),
    "R43": (
        "No member, topic or subscription changed, and no join or leave shortly before.",
        "As sure as the causes.",
    ),
    "R44": (
        "A log whose end went back by half; or all offsets of a topic removed while the group lived.",
        "Certain with log ends, else likely.",
    ),
    "R45": (
        "All its partitions are late, those of others are not, and its logs grow no faster than theirs.",
        "Certain; why it is slow is only possible.",
    ),
    "R46": (
        "Several owners left at their poll timeout while one committed offset stayed.",
        "Likely.",
    ),
    "R47": (
        "Several members failed with them, or others were accepted meanwhile; what one member alone outlived is R49.",
        "Certain; that the records are to blame is likely with events, else mostly possible.",
    ),
    "R48": (
        "Hardly anything was accepted for seconds, while many records were given up.",
        "Certain; the cause likely where several members failed, else possible.",
    ),
    "R49": (
        "The member went on after its locks had expired; who was dead by then is left out.",
        "Certain.",
    ),
    "R50": (
        "Deliveries that ended with the record back in the group.",
        "Certain; from the share coordinator's log alone the cause is possible.",
    ),
    "R51": (
        "Samples of the lag while somebody was there.",
        "Certain.",
    ),
    "R52": (
        "How the last members went, where that is known.",
        "Certain where a session expired, else likely or possible.",
    ),
    "R53": (
        "The task has state, its process had no copy of it, records waited by samples, other tasks went on, and its "
        "changelog holds enough, where that is known.",
        "Certain that it stood with log ends, else possible and information; that it was being restored is likely or "
        "possible.",
    ),
    "R54": (
        "A process, by its id or its name and host, went with tasks after a short life and was back, three times.",
        "Certain; how it went only events tell, and why is possible only where they don't.",
    ),
    "R55": (
        "Topology epochs while nobody came or went; or a group that was deleted and has another topology since.",
        "Certain.",
    ),
    "R56": (
        "Members were there all the time in which the group's epochs had no topology that is ready.",
        "Certain.",
    ),
}
"""By rule: what excludes other explanations, and the confidence."""
