"""Questions that a model calls open, though a page that the session has read answers them, in other words."""

from __future__ import annotations

PLANTED = (
    ("How much does the pump weigh?", "Without water the pump has a weight of 41 kilograms."),
    ("Which voltage does the motor need?", "The motor runs on a voltage of 230 V."),
    ("How long does the guarantee last?", "The maker gives a guarantee of three years on all parts."),
    ("How loud is the fan?", "At full load the fan is as loud as 38 decibels."),
    ("Which oil must be filled in?", "Only oil of the grade ISO VG 46 may be filled in."),
    ("How often is the filter to be cleaned?", "Clean the filter every six weeks."),
    ("Who may open the housing?", "The housing may be opened by trained staff only."),
    ("What does error code 17 mean?", "Error code 17 means that the inlet is blocked."),
    ("At which temperature does the frost guard start?", "The frost guard starts at a temperature of 3 °C."),
    ("How deep may the well be?", "The well may be 52 metres deep at most."),
    ("Which cable is needed for the sensor?", "The sensor needs a shielded cable with four wires."),
    ("How is the pressure set?", "Set the pressure with the red screw under the lid."),
    ("When was the first model sold?", "The first model was sold in March 1998."),
    ("Where is the serial number printed?", "The serial number is printed on a plate behind the tank."),
    ("How many litres does the tank hold?", "The tank holds 120 litres."),
    ("Which seals resist chlorine?", "Seals of EPDM resist chlorine; those of nitrile do not."),
    ("Can the controller be updated?", "The controller is updated over the USB port."),
    ("What is the largest flow?", "The largest flow is 3,600 litres an hour."),
    ("How is the bearing greased?", "The bearing is greased for life and needs no service."),
    ("Which standard was the noise measured by?", "Noise was measured by the standard ISO 3744."),
    ("What does a spare impeller cost?", "A spare impeller costs 64 euros."),
    ("How long may it run dry?", "It may run dry for 90 seconds."),
    ("Which fuse protects the circuit?", "A slow fuse of 10 A protects the circuit."),
    ("How is the pump stored in winter?", "Drain the pump and store it in a dry room in winter."),
    ("What is the protection class of the housing?", "The housing has the protection class IP 55."),
    ("Which countries is it approved for?", "It is approved for all countries of the EEA."),
    ("How high is the power in standby?", "In standby the power is below half a watt."),
    ("Who wrote the control software?", "The control software was written by the Delft institute."),
    ("How many starts an hour are allowed?", "At most 20 starts an hour are allowed."),
    ("What material is the shaft made of?", "The shaft is made of stainless steel 1.4401."),
    ("How far must it stand from a wall?", "It must stand 25 centimetres from any wall."),
    ("Which drinking water rule does it meet?", "It meets the drinking water rule DVGW W 270."),
)
UNANSWERED = ("Which colour sells best in Peru?", "Why did the founder leave the company?", "What do rivals charge for delivery?")

_FILLER = "The chapter repeats, in general words and without figures, what users of machines have always known about their care. "


def pages() -> dict[str, str]:
    """Eight pages of some 5,000 tokens: each planted sentence stands in one of them, in a section of its own."""
    found: dict[str, str] = {}
    for number in range(8):
        sections = [f"## Chapter {part}\n\n{_FILLER * 8}" for part in range(10)]
        planted = [f"## Part {part}\n\n{_FILLER * 2}{told} {_FILLER}" for part, (_, told) in enumerate(PLANTED[number::8])]
        found[f"corpus:manual-{number}.md"] = "\n\n".join([f"# Manual {number}", *sections[:5], *planted, *sections[5:]])
    return found
